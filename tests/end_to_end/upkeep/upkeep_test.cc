#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "dunlin/client.h"
#include "tests/support/store_fixture.h"

// What the server does beside the data path, as its clients see it, on the fabric under test.

namespace dunlin {
namespace {

using std::chrono::steady_clock;

class UpkeepTest : public testing::StoreFixture {
 protected:
  // Each operation takes a system call or more there, and in a virtual machine ten times as long.
  bool slow() const { return testing::FabricUnderTest().name != "shm"; }
  int Few(int count) const {
    const std::string fabric = testing::FabricUnderTest().name;
    return fabric == "shm" ? count : fabric == "tcp" ? count / 5 : count / 20;
  }

  static std::string KeyOf(int n) { return "key-" + std::to_string(n); }
  static std::string ValueOf(int n, size_t bytes) {
    std::string value = "value of " + std::to_string(n) + " ";
    value.resize(std::max(bytes, value.size()), static_cast<char>('a' + n % 26));
    return value;
  }

  // Until `done`, or for half a minute.
  template <typename Done>
  bool Eventually(Done&& done) {
    const auto end = steady_clock::now() + std::chrono::seconds(30);
    while (steady_clock::now() < end) {
      if (done()) return true;
      // sleeps to leave the processor to the server between two looks
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  ServerStatus Status(bool count = false) {
    auto status = client_->Status(count);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? *status : ServerStatus();
  }
};

TEST_F(UpkeepTest, TheIndexGrowsUnderReadersAndWriters) {
  StartStore({"--records", "1"});
  auto idle = Open();
  ASSERT_TRUE(idle->Put("first", "1").ok());
  const int count = Few(100'000);
  std::atomic<int> written = 0;
  std::atomic<int> missed = 0;
  std::thread reader([&] {
    auto session = Open();
    Random random(1);
    while (written < count) {
      if (written == 0) continue;
      const int n = static_cast<int>(random.Below(static_cast<uint64_t>(written)));
      std::string value;
      missed += !session->GetString(AsBytes(KeyOf(n)), &value).ok() || value != ValueOf(n, 16);
    }
  });
  for (int n = 0; n < count; ++n) {
    const auto put = session_->Put(KeyOf(n), ValueOf(n, 16));
    EXPECT_TRUE(put.ok()) << n << ": " << put.status();
    if (!put.ok()) break;
    written = n + 1;
  }
  written = count;
  reader.join();
  EXPECT_EQ(missed, 0);
  const ServerStatus status = Status(true);
  EXPECT_EQ(status.items, static_cast<uint64_t>(count) + 1);
  if (!slow()) {
    EXPECT_GE(status.splits, 7u);
  }
  EXPECT_EQ(status.locks_held, 0u);
  // A session that has slept through it all, with places in mind that are gone.
  std::string value;
  EXPECT_TRUE(idle->GetString(AsBytes("first"), &value).ok());
  EXPECT_TRUE(idle->Put("first", "2").ok());
  for (int n = 0; n < count; n += 97) {
    ASSERT_TRUE(idle->GetString(AsBytes(KeyOf(n)), &value).ok()) << n;
    ASSERT_EQ(value, ValueOf(n, 16));
  }
  uint64_t seen = 0;
  std::set<std::string> keys;
  ScanOptions options;
  options.limit = 1000;
  for (uint64_t cursor = 0;;) {
    auto page = session_->Scan(cursor, options);
    ASSERT_TRUE(page.ok()) << page.status();
    seen += page->entries.size();
    for (const ScanEntry& entry : page->entries) keys.insert(entry.key);
    if (page->done) break;
    cursor = page->next;
  }
  EXPECT_EQ(keys.size(), status.items);
  // Twice only what a split moved meanwhile, for which it was time.
  if (Status().splits == status.splits) {
    EXPECT_EQ(seen, status.items);
  }
}

TEST_F(UpkeepTest, ExpiredRecordsGiveTheirMemoryBackThoughNobodyAsksForThem) {
  StartStore({"--patrol-period", "10ms", "--grace", "50ms"});
  const int count = Few(2000);
  for (int n = 0; n < count; ++n) {
    ASSERT_TRUE(session_->Put(KeyOf(n), ValueOf(n, 100), {.ttl = Milliseconds(300)}).ok());
    ASSERT_TRUE(session_->Put("stays" + KeyOf(n), ValueOf(n, 100)).ok());
  }
  EXPECT_TRUE(Eventually([&] { return Status().patrol.expired == static_cast<uint64_t>(count); }))
      << Status().patrol.expired;
  EXPECT_EQ(Status(true).items, static_cast<uint64_t>(count));
  for (int n = 0; n < count; ++n) {
    std::string value;
    ASSERT_EQ(session_->GetString(AsBytes(KeyOf(n)), &value).outcome, Outcome::kNotFound);
    ASSERT_TRUE(session_->GetString(AsBytes("stays" + KeyOf(n)), &value).ok());
  }
}

TEST_F(UpkeepTest, AChangeOfValueSizesStrandsNoMemory) {
  StartStore({"--patrol-period", "10ms", "--grace", "20ms", "--records", "1"},
             slow() ? "6MiB" : "16MiB");
  int count = 0;
  while (session_->Put(KeyOf(count), ValueOf(count, 200)).ok()) ++count;
  ASSERT_GT(count, 5'000);
  // Of eight, seven go, all over the heap.
  for (int n = 0; n < count; ++n) {
    if (n % 8 != 0) {
      ASSERT_TRUE(session_->Remove(KeyOf(n)).ok());
    }
  }
  const int large = count * 200 / 2 / 2000;  // half of what there was
  int stored = 0;
  EXPECT_TRUE(Eventually([&] {
    while (stored < large && session_->Put("large" + KeyOf(stored), ValueOf(stored, 2000)).ok()) {
      ++stored;
    }
    return stored == large;
  })) << stored
      << " of " << large << ", relocated " << Status().patrol.relocated;
  EXPECT_GT(Status().patrol.relocated, 0u);
  std::string value;
  for (int n = 0; n < count; n += 8) {
    ASSERT_TRUE(session_->GetString(AsBytes(KeyOf(n)), &value).ok()) << n;
    ASSERT_EQ(value, ValueOf(n, 200));
  }
  for (int n = 0; n < large; ++n) {
    ASSERT_TRUE(session_->GetString(AsBytes("large" + KeyOf(n)), &value).ok()) << n;
    ASSERT_EQ(value, ValueOf(n, 2000));
  }
}

TEST_F(UpkeepTest, ACacheMakesRoomAndKeepsWhatIsUsed) {
  StartStore({"--mode", "cache", "--grace", "20ms", "--records", "1", "--max-sessions", "32"},
             slow() ? "6MiB" : "16MiB");
  EXPECT_EQ(Status().mode, "cache");
  const int hot = Few(2000);
  const int count = Few(160'000);
  std::string value;
  for (int n = 0; n < hot; ++n) ASSERT_TRUE(session_->Put("hot" + KeyOf(n), "h").ok());
  Random random(2);
  int lost = 0;
  for (int n = 0; n < count; ++n) {
    const auto put = session_->Put(KeyOf(n), ValueOf(n, 400));
    ASSERT_TRUE(put.ok()) << n << ": " << put.status() << server_->Log();
    for (int i = 0; i < 4; ++i) {
      const std::string key = "hot" + KeyOf(static_cast<int>(random.Below(hot)));
      const GetResult got = session_->GetString(AsBytes(key), &value);
      if (got.ok()) continue;
      ASSERT_EQ(got.outcome, Outcome::kNotFound);
      ++lost;
      ASSERT_TRUE(session_->Put(key, "h").ok());
    }
  }
  if (!slow()) {
    EXPECT_GT(Status().evicted, static_cast<uint64_t>(count) / 2);
  }
  EXPECT_LT(lost, slow() ? 5 * hot : hot);
  int there = 0;
  for (int n = 0; n < count; ++n) {
    const GetResult got = session_->GetString(AsBytes(KeyOf(n)), &value);
    if (!got.ok()) continue;
    ASSERT_EQ(value, ValueOf(n, 400));
    ++there;
  }
  EXPECT_GT(there, std::min(count, Few(10'000)) / 2);
  // Other sizes, and runs of pages, find room in what is full of small records. While room for one
  // is made, a few of the newest may go, too: they lie where whole pages are wanted.
  int gone = 0;
  for (int n = 0; n < 40; ++n) {
    const std::string large = ValueOf(n, n % 2 == 0 ? 5000 : 100'000);
    const auto put = session_->Put("large" + KeyOf(n), large);
    ASSERT_TRUE(put.ok()) << n << ": " << put.status() << server_->Log();
    const GetResult got = session_->GetString(AsBytes("large" + KeyOf(n)), &value);
    if (got.outcome == Outcome::kNotFound) {
      ++gone;
      continue;
    }
    ASSERT_TRUE(got.ok()) << n << ": " << OutcomeName(got.outcome);
    ASSERT_EQ(value, large);
  }
  EXPECT_LE(gone, 4);
}

// Absorption bounds a put under any contention.
// Small heaps with values of 16 bytes to 20 KiB, as many of 20 to 40 as of 10,000 to 20,000.
class MixedSizesTest : public UpkeepTest {
 protected:
  void OpenFour() {
    for (auto& session : sessions_) {
      auto opened = client_->OpenSession();
      ASSERT_TRUE(opened.ok()) << opened.status();
      session = std::move(*opened);
    }
  }
  // Of the n-th key; what it takes of the heap is appended.
  Outcome Put(int n) {
    const size_t bytes = static_cast<size_t>(16 * std::pow(1280.0, random_.Unit()));
    sizes_.push_back(bytes + 40);
    return sessions_[n % 4]->PutBytes(AsBytes(KeyOf(n)), AsBytes(std::string(bytes, 'v'))).outcome;
  }
  uint64_t BytesThere() {
    uint64_t bytes = 0;
    for (size_t n = 0; n < sizes_.size(); ++n) {
      const bool there = session_->Head(AsBytes(KeyOf(static_cast<int>(n)))).ok();
      bytes += there ? sizes_[n] : 0;
    }
    return bytes;
  }
  double ShareThere() {
    return static_cast<double>(BytesThere()) / static_cast<double>(Status().heap_bytes);
  }

  std::unique_ptr<Session> sessions_[4];
  Random random_{7};
  std::vector<uint64_t> sizes_;
};

TEST_F(MixedSizesTest, AStoreIsFullOnlyWhenItIs) {
  StartStore({"--grace", "20ms"}, "16MiB");
  OpenFour();
  Outcome outcome = Outcome::kOk;
  for (int n = 0; outcome == Outcome::kOk; ++n) outcome = Put(n);
  EXPECT_EQ(outcome, Outcome::kMemoryFull);
  EXPECT_GT(ShareThere(), 0.8) << sizes_.size() << " records";
}

TEST_F(MixedSizesTest, ACacheAlwaysHasRoomAndIsNotEmptiedForIt) {
  StartStore({"--mode", "cache", "--grace", "20ms", "--max-sessions", "32"}, "16MiB");
  OpenFour();
  const int count = slow() ? 10'000 : 30'000;
  // A server that got no processor for a while makes no room meanwhile.
  int refused = 0;
  for (int n = 0; n < count; ++n) {
    Outcome outcome = Put(n);
    if (outcome == Outcome::kOk) continue;
    ASSERT_TRUE(outcome == Outcome::kMemoryFull || outcome == Outcome::kDeadlineExceeded)
        << n << ": " << OutcomeName(outcome);
    ++refused;
    EXPECT_TRUE(Eventually([&] {
      sizes_.pop_back();
      outcome = Put(n);
      return outcome != Outcome::kMemoryFull;
    }));
    ASSERT_EQ(outcome, Outcome::kOk) << n;
  }
  EXPECT_LE(refused, 3);
  EXPECT_GT(ShareThere(), 0.6) << "evicted " << Status().evicted;
}

TEST_F(UpkeepTest, APutToOneHotKeyTakesFourRoundTripsAtMost) {
  StartStore({"--patrol-period", "24h"});
  ASSERT_TRUE(session_->Put("hot", "0").ok());
  constexpr int kWriters = 8;
  const int puts = Few(20'000);
  std::atomic<uint64_t> most = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      auto session = Open();
      for (int n = 0; n < puts; ++n) {
        const uint64_t before = session->stats().chains;
        failed += !session->Put("hot", std::to_string(w)).ok();
        const uint64_t chains = session->stats().chains - before;
        uint64_t known = most;
        while (chains > known && !most.compare_exchange_weak(known, chains)) {
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  EXPECT_LE(most, 4u);
  EXPECT_GE(most, 2u) << "there was no contention to speak of";
}

TEST_F(UpkeepTest, ASweepFindsNothingWhereNothingWasLost) {
  StartStore({"--grace", "20ms"});
  const int count = Few(5000);
  for (int n = 0; n < count; ++n) ASSERT_TRUE(session_->Put(KeyOf(n), ValueOf(n, 50)).ok());
  for (int n = 0; n < count; n += 2) ASSERT_TRUE(session_->Remove(KeyOf(n)).ok());
  auto swept = client_->Sweep(Milliseconds(30'000));
  ASSERT_TRUE(swept.ok()) << swept.status();
  EXPECT_EQ(swept->patrol.sweeps, 1u);
  EXPECT_EQ(swept->items, static_cast<uint64_t>(count / 2));
  std::string value;
  for (int n = 1; n < count; n += 2) {
    ASSERT_TRUE(session_->GetString(AsBytes(KeyOf(n)), &value).ok());
    ASSERT_EQ(value, ValueOf(n, 50));
  }
}

}  // namespace
}  // namespace dunlin
