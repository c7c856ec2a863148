// Chains over the verbs fabric, between a client and a server on each RDMA device of the harness.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "common/layout/word.h"
#include "gmock/gmock.h"
#include "tests/rdma/verbs_fixture_testing.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

class VerbsFabricTest : public VerbsFixture {};
INSTANTIATE_TEST_SUITE_P(Devices, VerbsFabricTest, AllDevices(), DeviceName);

std::vector<std::byte> RandomBytes(size_t bytes, uint32_t seed) {
  std::vector<std::byte> data(bytes);
  std::mt19937_64 random(seed);
  for (size_t i = 0; i + 8 <= bytes; i += 8) SetPlainWord(data.data() + i, random());
  for (size_t i = bytes & ~size_t{7}; i < bytes; ++i) data[i] = static_cast<std::byte>(i);
  return data;
}

bool Same(const std::byte* a, std::span<const std::byte> b) {
  return std::memcmp(a, b.data(), b.size()) == 0;
}

TEST_P(VerbsFabricTest, EachVerb) {
  Connect();
  StoreWord(server_->region() + 4096, 41);
  const std::string text = "one-sided";
  const std::string tail = " and with a tail";
  std::memcpy(scratch_.data(), text.data(), text.size());
  Chain chain = NewChain();
  chain.Write(64, 0, 9, reinterpret_cast<const std::byte*>(tail.data()), 16);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(std::memcmp(server_->region() + 64, (text + tail).data(), 25), 0);

  chain.Clear();
  chain.Read(64, 25, 512);
  chain.ReadWord(4096);
  chain.ReadByReference(64, 9, 768);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(chain.work[0].data, scratch_.data() + 512);
  EXPECT_EQ(std::memcmp(chain.work[0].data, (text + tail).data(), 25), 0);
  EXPECT_EQ(chain.work[1].result, 41u);
  EXPECT_EQ(std::memcmp(chain.work[2].data, text.data(), 9), 0);

  chain.Clear();
  chain.CompareSwap(4096, 41, 42);
  chain.CompareSwap(4096, 41, 43);
  chain.FetchAdd(4096, 8);
  chain.ReadWord(4096);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_TRUE(chain.Swapped(0));
  EXPECT_FALSE(chain.Swapped(1));
  EXPECT_EQ(chain.work[1].result, 42u);
  EXPECT_EQ(chain.work[2].result, 42u);
  EXPECT_EQ(chain.work[3].result, 50u);
  EXPECT_EQ(LoadWord(server_->region() + 4096), 50u);
}

TEST_P(VerbsFabricTest, AtomicsGoWhereTheDomainSays) {
  Connect();
  EXPECT_EQ(server_->endpoint().domain(), iwarp() ? AtomicDomain::kCpu : AtomicDomain::kNic);
  Chain chain = NewChain();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.CompareSwap(4096, 0, 1);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(server_->chain_requests(), iwarp() ? 1u : 0u);

  TestServer::Options options;
  options.endpoint.domain = AtomicDomainRequest::kCpu;
  StartServer(options);
  Connect();
  chain.Clear();
  chain.Write(0, 0, 64, nullptr, 0);
  chain.CompareSwap(4096, 0, 1);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(server_->chain_requests(), 1u);
}

// WRITE before atomic, atomic before READ, WRITE before READ: also where the tail is the server's.
TEST_P(VerbsFabricTest, OrderWithinAChain) {
  Connect();
  for (uint64_t round = 1; round <= 1000; ++round) {
    SetPlainWord(scratch_.data(), round);
    Chain chain = NewChain();
    chain.Write(128, 0, 8, nullptr, 0);
    chain.Read(128, 8, 64);
    chain.CompareSwap(192, round - 1, round);
    chain.Read(128, 128, 128);
    ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
    ASSERT_EQ(PlainWord(scratch_.data() + 64), round) << "a READ overtook a WRITE";
    ASSERT_TRUE(chain.Swapped(2));
    ASSERT_EQ(PlainWord(scratch_.data() + 128), round);
    ASSERT_EQ(PlainWord(scratch_.data() + 192), round) << "a READ overtook an atomic";
  }
}

// As many chains as the channel takes, of all kinds and sizes; each slot of the region belongs to
// one of them, so all that is read back can be foretold.
TEST_P(VerbsFabricTest, ManyChainsInFlight) {
  Connect();
  const uint32_t depth = channel_->depth();
  ASSERT_GE(depth, 32u);
  constexpr uint32_t kSlotBytes = 4096;
  std::mt19937 random(7);
  struct Flight {
    Chain chain;
    std::vector<std::byte> scratch = std::vector<std::byte>(2 * kSlotBytes);
    std::vector<std::byte> written;
    uint64_t counter = 0;
    uint64_t rounds = 0;
  };
  std::vector<Flight> flights(depth);
  const auto post = [&](uint32_t i) {
    Flight& flight = flights[i];
    const uint64_t base = uint64_t{i} * kSlotBytes;
    const uint32_t bytes = 1 + static_cast<uint32_t>(random() % 3000);
    flight.written = RandomBytes(bytes, random());
    std::memcpy(flight.scratch.data(), flight.written.data(), bytes);
    Chain& chain = flight.chain;
    chain.Clear();
    chain.scratch = flight.scratch.data();
    chain.cookie = i;
    chain.Write(base + 8, 0, bytes, nullptr, 0);
    if (random() % 2 == 0) chain.CompareSwap(base, flight.counter, flight.counter + 1);
    chain.Read(base + 8, bytes, kSlotBytes);
    channel_->Post(&chain);
  };
  for (uint32_t i = 0; i < depth; ++i) post(i);
  uint64_t finished = 0;
  uint32_t under_way = depth;
  while (under_way != 0) {
    Chain* done[16];
    const uint32_t n = channel_->Poll(done, 16);
    if (n == 0) channel_->WaitFor(100'000'000);
    for (uint32_t d = 0; d < n; ++d) {
      Flight& flight = flights[done[d]->cookie];
      ASSERT_EQ(done[d]->outcome, ChainOutcome::kDone) << channel_->broken();
      ASSERT_TRUE(Same(flight.scratch.data() + kSlotBytes, flight.written));
      if (done[d]->atomics != 0) {
        ASSERT_TRUE(done[d]->Swapped(1));
        ++flight.counter;
      }
      ++finished;
      if (++flight.rounds < 40) {
        post(static_cast<uint32_t>(done[d]->cookie));
      } else {
        --under_way;
      }
    }
  }
  EXPECT_EQ(finished, 40u * depth);
}

// Nothing is read whole but words.
TEST_P(VerbsFabricTest, ReadsAreTornButWordsAreNot) {
  Connect();
  constexpr uint32_t kBytes = 8192;
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    for (uint64_t value = 1; !stop; ++value) {
      for (uint32_t i = 0; i < kBytes; i += 8) {
        StoreWord(server_->region() + i, value % 256 * 0x0101010101010101u);
      }
    }
  });
  int torn = 0;
  const Deadline deadline = Soon();
  const auto finally = std::shared_ptr<void>(&stop, [&](void*) { stop = true; });
  for (int reads = 0; (reads < 50 || torn == 0) && deadline.NanosLeft() != 0; ++reads) {
    Chain chain = NewChain();
    chain.Read(0, kBytes, 0);
    ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
    bool mixed = false;
    for (uint32_t i = 0; i < kBytes; i += 8) {
      const uint64_t word = PlainWord(scratch_.data() + i);
      ASSERT_EQ(word, word % 256 * 0x0101010101010101u) << "a word was read in parts";
      mixed |= word != PlainWord(scratch_.data());
    }
    torn += mixed;
  }
  EXPECT_GT(torn, 0) << "this device shows no torn READ; the test shows nothing here";
}

TEST_P(VerbsFabricTest, LargeValues) {
  TestServer::Options options;
  options.region_bytes = 130u << 20;
  StartServer(options);
  Connect();
  // Unaligned, longer than a segment and than rxe's longest message.
  const std::vector<std::byte> value = RandomBytes((64u << 20) - 3, 1);
  std::memcpy(scratch_.data(), value.data(), 40);
  Chain chain = NewChain();
  chain.Write(67, 0, 40, value.data() + 40, static_cast<uint32_t>(value.size() - 40));
  chain.CompareSwap(0, 0, 1);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_TRUE(chain.Swapped(1));
  EXPECT_TRUE(Same(server_->region() + 67, value));

  std::vector<std::byte> sink(value.size());
  chain.Clear();
  chain.Read(67, static_cast<uint32_t>(value.size()), 0).sink = sink.data();
  chain.ReadWord(0);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(chain.work[0].data, sink.data());
  EXPECT_TRUE(Same(sink.data(), value));
  EXPECT_EQ(chain.work[1].result, 1u);
}

// Behind an atomic in domain cpu everything is a message; one that is longer than a message.
TEST_P(VerbsFabricTest, LongTails) {
  TestServer::Options options;
  options.endpoint.domain = AtomicDomainRequest::kCpu;
  options.region_bytes = 8u << 20;
  StartServer(options);
  Connect();
  for (const uint32_t bytes : {100u, 4080u, 5000u, 300'000u, 1'000'000u}) {
    const std::vector<std::byte> value = RandomBytes(bytes, bytes);
    Chain chain = NewChain();
    chain.Write(0, 0, 8, nullptr, 0);
    chain.FetchAdd(64, 1);
    chain.Write(4096, 0, 0, value.data(), bytes);
    chain.Read(4096, bytes, 8192);
    ASSERT_EQ(Run(chain), ChainOutcome::kDone) << bytes << ": " << channel_->broken();
    ASSERT_TRUE(Same(server_->region() + 4096, value)) << bytes;
    EXPECT_TRUE(Same(scratch_.data() + 8192, value)) << bytes;
  }
  EXPECT_EQ(LoadWord(server_->region() + 64), 5u);
  // More than a request holds, behind a verb that reads.
  const std::vector<std::byte> value(2'500'000);
  Chain chain = NewChain();
  chain.FetchAdd(64, 1);
  chain.Write(4096, 0, 0, value.data(), static_cast<uint32_t>(value.size()));
  EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
  EXPECT_TRUE(channel_->broken().ok());
}

// The region in registrations of 64 KiB: what lies across their borders is cut there.
TEST_P(VerbsFabricTest, AcrossRegistrations) {
  TestServer::Options options;
  options.endpoint.max_mr_bytes = 64u << 10;
  StartServer(options);
  Connect();
  EXPECT_EQ(server_->Access(false).keys.size(), 16u);
  const std::vector<std::byte> value = RandomBytes(500'001, 3);
  Chain chain = NewChain();
  chain.Write(5, 0, 0, value.data(), static_cast<uint32_t>(value.size()));
  chain.Write((128u << 10) * 4 - 8, 0, 16, nullptr, 0);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_TRUE(Same(server_->region() + 5, std::span(value)));
  EXPECT_TRUE(Same(server_->region() + (128u << 10) * 4 - 8, std::span(scratch_).first(16)));
  std::vector<std::byte> sink(value.size());
  chain.Clear();
  chain.Read(5, static_cast<uint32_t>(value.size()), 0).sink = sink.data();
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_TRUE(Same(sink.data(), value));
}

TEST_P(VerbsFabricTest, VerbsWithoutBytes) {
  Connect();
  Chain chain = NewChain();
  chain.Read(64, 0, 16);
  chain.Write(64, 0, 0, nullptr, 0);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(chain.work[0].data, scratch_.data() + 16);
  chain.ReadWord(64);
  ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  EXPECT_EQ(chain.work[2].result, 0u);
}

TEST_P(VerbsFabricTest, RefusesWhatLiesOutside) {
  Connect();
  for (const uint64_t remote : {uint64_t{1u << 20}, (uint64_t{1} << 20) - 4, UINT64_MAX - 7}) {
    Chain chain = NewChain();
    chain.Read(remote, 8, 0);
    EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
  }
  Chain chain = NewChain();
  chain.ReadWord(4);
  EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
  EXPECT_TRUE(channel_->broken().ok());
  chain.Clear();
  chain.ReadWord(8);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone);
}

TEST_P(VerbsFabricTest, ReadOnlySessionsRefuseChanges) {
  connection_ = Dial();
  ASSERT_NE(connection_, nullptr);
  channel_ = connection_->OpenChannel(server_->Access(true));
  Chain chain = NewChain();
  chain.Write(0, 0, 8, nullptr, 0);
  EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
  chain.Clear();
  chain.CompareSwap(0, 0, 1);
  EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
  chain.Clear();
  chain.Read(0, 64, 0);
  EXPECT_EQ(Run(chain), ChainOutcome::kDone);
}

// A client that doesn't keep to being read-only. (siw checks no rights where a WRITE arrives.)
TEST_P(VerbsFabricTest, KeysOfReadOnlySessionsCanOnlyRead) {
  if (iwarp()) GTEST_SKIP() << "the software iWARP device does not check";
  for (const bool atomic : {false, true}) {
    connection_ = Dial();
    ASSERT_NE(connection_, nullptr);
    RegionAccess access = server_->Access(true);
    access.read_only = false;
    channel_ = connection_->OpenChannel(access);
    Chain chain = NewChain();
    chain.Read(0, 64, 0);
    ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
    chain.Clear();
    if (atomic) {
      chain.CompareSwap(0, 0, 1);
    } else {
      SetPlainWord(scratch_.data(), 1);
      chain.Write(0, 0, 8, nullptr, 0);
    }
    EXPECT_EQ(Run(chain), ChainOutcome::kUnknown);
    EXPECT_EQ(channel_->broken().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(channel_->broken().message()), HasSubstr("remote access error"));
    EXPECT_EQ(LoadWord(server_->region()), 0u);
    chain.Clear();
    chain.Read(0, 64, 0);
    EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
    EXPECT_FALSE(connection_->CheckQuiet().ok());
  }
}

TEST_P(VerbsFabricTest, StaleKeysAreNoUse) {
  if (iwarp()) GTEST_SKIP() << "the software iWARP device does not check";
  connection_ = Dial();
  ASSERT_NE(connection_, nullptr);
  RegionAccess access = server_->Access(false);
  access.keys[0].key ^= 0x55;
  channel_ = connection_->OpenChannel(access);
  Chain chain = NewChain();
  chain.Read(0, 64, 0);
  EXPECT_EQ(Run(chain), ChainOutcome::kUnknown);
  EXPECT_EQ(channel_->broken().code(), absl::StatusCode::kPermissionDenied);
}

TEST_P(VerbsFabricTest, KeysAreFreshForEachServer) {
  connection_ = Dial();
  const uint32_t key = server_->Access(false).keys[0].key;
  EXPECT_NE(server_->Access(true).keys[0].key, key);
  StartServer({});
  connection_ = Dial();
  EXPECT_NE(server_->Access(false).keys[0].key, key);
}

TEST_P(VerbsFabricTest, KeysThatDoNotCoverTheRegion) {
  connection_ = Dial();
  ASSERT_NE(connection_, nullptr);
  RegionAccess access = server_->Access(false);
  access.region_bytes += 1;
  channel_ = connection_->OpenChannel(access);
  EXPECT_EQ(channel_->broken().code(), absl::StatusCode::kFailedPrecondition);
  Chain chain = NewChain();
  chain.Read(0, 64, 0);
  EXPECT_EQ(Run(chain), ChainOutcome::kNotExecuted);
}

// The server's own compare-and-swaps and its clients' go through one agent.
TEST_P(VerbsFabricTest, ServerAndClientShareAWord) {
  if (iwarp()) {
    EXPECT_FALSE(server_->endpoint().OpenAtomicAgent().ok());
    return;
  }
  Connect();
  auto agent = server_->endpoint().OpenAtomicAgent();
  ASSERT_TRUE(agent.ok()) << agent.status();
  constexpr uint64_t kEach = 2000;
  uint64_t swapped = 0;
  std::thread server([&] {
    for (uint64_t found = 0; swapped < kEach;) {
      const auto result = (*agent)->CompareSwap(4096, found, found + 1);
      ASSERT_TRUE(result.ok()) << result.status();
      swapped += *result == found;
      found = *result == found ? found + 1 : *result;
    }
  });
  for (uint64_t i = 0; i < kEach; ++i) {
    Chain chain = NewChain();
    chain.FetchAdd(4096, 1);
    ASSERT_EQ(Run(chain), ChainOutcome::kDone) << channel_->broken();
  }
  server.join();
  EXPECT_EQ(LoadWord(server_->region() + 4096), 2 * kEach);
}

TEST_P(VerbsFabricTest, TheServersSwapsGoInLists) {
  if (iwarp()) GTEST_SKIP() << "the device has no atomics";
  Connect();
  auto agent = server_->endpoint().OpenAtomicAgent();
  ASSERT_TRUE(agent.ok()) << agent.status();
  constexpr uint64_t kWords = 41;
  std::vector<AtomicAgent::Swap> swaps;
  for (uint64_t i = 0; i < kWords; ++i) {
    StoreWord(server_->region() + 4096 + i * kWordBytes, i);
    // Every third one expects what is not there.
    swaps.push_back({4096 + i * kWordBytes, i % 3 == 0 ? i + 1 : i, 1000 + i, 0});
  }
  ASSERT_TRUE((*agent)->CompareSwapAll(std::span(swaps)).ok());
  for (uint64_t i = 0; i < kWords; ++i) {
    EXPECT_EQ(swaps[i].found, i);
    EXPECT_EQ(LoadWord(server_->region() + 4096 + i * kWordBytes), i % 3 == 0 ? i : 1000 + i);
  }
}

// One list for each chain, whatever is in it.
TEST_P(VerbsFabricTest, OneListForAChain) {
  Connect();
  int count = 0;
  ibv_context** devices = rdma_get_devices(&count);
  ibv_context* device = nullptr;
  for (int i = 0; i < count; ++i) {
    if (server_->endpoint().name().find(ibv_get_device_name(devices[i]->device)) !=
        std::string::npos) {
      device = devices[i];
    }
  }
  rdma_free_devices(devices);
  ASSERT_NE(device, nullptr);
  static std::atomic<int> lists;
  static std::atomic<int> requests;
  static decltype(device->ops.post_send) original;
  lists = requests = 0;
  original = device->ops.post_send;
  static const pthread_t client = ::pthread_self();
  device->ops.post_send = [](ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) {
    if (::pthread_equal(::pthread_self(), client) != 0) {
      ++lists;
      for (ibv_send_wr* at = first; at != nullptr; at = at->next) ++requests;
    }
    return original(qp, first, bad);
  };
  Chain known_get = NewChain();
  known_get.Read(0, 128, 0);
  known_get.ReadWord(4096);
  Chain known_put = NewChain();
  known_put.Write(0, 0, 100, nullptr, 0);
  known_put.CompareSwap(4096, 0, 1);
  Chain insert = NewChain();
  insert.Write(0, 0, 100, nullptr, 0);
  insert.CompareSwap(4096, 1, 2);
  insert.Read(8192, 128, 128);
  insert.Read(8448, 128, 256);
  const int expected_requests[] = {2, 2, iwarp() ? 2 : 4};
  int i = 0;
  for (Chain* chain : {&known_get, &known_put, &insert}) {
    lists = requests = 0;
    EXPECT_EQ(Run(*chain), ChainOutcome::kDone);
    EXPECT_EQ(lists, 1);
    EXPECT_EQ(requests, expected_requests[i++]);
  }
  device->ops.post_send = original;
}

}  // namespace
}  // namespace dunlin
