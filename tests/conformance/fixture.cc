#include "tests/conformance/fixture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/layout/word.h"

namespace dunlin::testing {
namespace {

constexpr int64_t kOneWait = 50'000'000;

}  // namespace

Bytes Pattern(size_t bytes, uint64_t seed) {
  Bytes pattern(bytes);
  Random random(seed);
  for (size_t i = 0; i < bytes; i += kWordBytes) {
    const uint64_t word = i == 0 ? seed * 0x9E3779B97F4A7C15u : random.Next();
    std::memcpy(pattern.data() + i, &word, std::min(kWordBytes, bytes - i));
  }
  return pattern;
}

Bytes Repeat(size_t bytes, uint64_t word) {
  Bytes repeated(bytes);
  for (size_t i = 0; i < bytes; i += kWordBytes) {
    std::memcpy(repeated.data() + i, &word, std::min(kWordBytes, bytes - i));
  }
  return repeated;
}

uint64_t WordOf(std::span<const std::byte> bytes, size_t i) {
  return PlainWord(bytes.data() + i * kWordBytes);
}

std::vector<Chain*> TakeBack(Channel& channel, size_t count) {
  std::vector<Chain*> taken(count);
  size_t have = 0;
  int64_t give_up = 0;
  const SystemClock clock;
  while (have < count) {
    const uint32_t n = channel.Poll(taken.data() + have,
                                    static_cast<uint32_t>(std::min(count - have, size_t{64})));
    have += n;
    if (n != 0) continue;
    const int64_t now = clock.NowNanos();
    if (give_up == 0) give_up = now + kPatienceNanos;
    if (now > give_up) {
      ADD_FAILURE() << "expected " << count << " chains back, got " << have << "; "
                    << channel.broken();
      break;
    }
    channel.WaitFor(kOneWait);
  }
  taken.resize(have);
  return taken;
}

ChainOutcome Carry(Channel& channel, Chain& chain) {
  channel.Post(&chain);
  const std::vector<Chain*> taken = TakeBack(channel, 1);
  if (taken.empty()) return ChainOutcome::kPending;
  EXPECT_EQ(taken[0], &chain);
  return chain.outcome;
}

void Store(Channel& channel, uint64_t at, std::span<const std::byte> bytes) {
  Chain chain;
  chain.Write(at, 0, 0, bytes.data(), static_cast<uint32_t>(bytes.size()));
  ASSERT_EQ(Carry(channel, chain), ChainOutcome::kDone) << channel.broken();
}

void StoreWordAt(Channel& channel, uint64_t at, uint64_t word) {
  Store(channel, at, std::as_bytes(std::span(&word, 1)));
}

Bytes Fetch(Channel& channel, uint64_t at, size_t bytes) {
  Bytes fetched(bytes);
  Chain chain;
  chain.Read(at, static_cast<uint32_t>(bytes), 0).sink = fetched.data();
  EXPECT_EQ(Carry(channel, chain), ChainOutcome::kDone) << channel.broken();
  return fetched;
}

uint64_t FetchWord(Channel& channel, uint64_t at) {
  Chain chain;
  chain.ReadWord(at);
  EXPECT_EQ(Carry(channel, chain), ChainOutcome::kDone) << channel.broken();
  return chain.work[0].result;
}

std::unique_ptr<Site> ConformanceTest::site_;

void ConformanceTest::SetUpTestSuite() {
  const char* asked = std::getenv("TEST_FABRIC");
  if (asked != nullptr && std::string_view(asked) == "model") {
    site_ = MakeModelSite();
    return;
  }
  auto site = MakeServerSite();
  ASSERT_TRUE(site.ok()) << site.status();
  site_ = std::move(*site);
}

std::unique_ptr<Seat> ConformanceTest::Open(bool read_only) {
  auto seat = site_->Open(read_only);
  EXPECT_TRUE(seat.ok()) << seat.status();
  return seat.ok() ? std::move(*seat) : nullptr;
}

uint64_t ConformanceTest::Take(Seat& seat, uint64_t bytes) {
  const auto taken = seat.Take(bytes);
  EXPECT_TRUE(taken.ok()) << taken.status();
  return taken.ok() ? *taken : 0;
}

}  // namespace dunlin::testing
