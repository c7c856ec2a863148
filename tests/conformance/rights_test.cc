// Rights and ranges: what must not be done comes back kNotExecuted, has done nothing, and leaves
// the channel as good as before.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/fixture.h"

namespace dunlin::testing {
namespace {

class RightsTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    seat_ = Open();
    ASSERT_NE(seat_, nullptr);
    at_ = Take(*seat_, kRoom);
    content_ = Pattern(kRoom, 21);
    Store(seat_->channel(), at_, content_);
  }

  using Fill = std::function<void(Chain&)>;
  // `fill` makes a chain that `channel` must refuse. Between two good ones, so that these prove
  // that it goes on working.
  void ExpectRefused(Channel& channel, const std::string& what, const Fill& fill) {
    Bytes scratch(64, std::byte{0x5A});
    Chain before, refused, after;
    before.ReadWord(at_ + 8);
    after.ReadWord(at_ + 16);
    refused.scratch = scratch.data();
    fill(refused);
    for (Chain* each : {&before, &refused, &after}) channel.Post(each);
    ASSERT_EQ(TakeBack(channel, 3).size(), 3u) << what;
    EXPECT_EQ(refused.outcome, ChainOutcome::kNotExecuted) << what;
    EXPECT_EQ(before.outcome, ChainOutcome::kDone) << what;
    EXPECT_EQ(before.work[0].result, WordOf(content_, 1)) << what;
    EXPECT_EQ(after.outcome, ChainOutcome::kDone) << what;
    EXPECT_EQ(after.work[0].result, WordOf(content_, 2)) << what;
    EXPECT_TRUE(channel.broken().ok()) << what << ": " << channel.broken();
    EXPECT_EQ(scratch, Bytes(64, std::byte{0x5A})) << what;
    EXPECT_EQ(Fetch(seat_->channel(), at_, kRoom), content_) << what;
  }

  static constexpr uint64_t kRoom = 256;
  std::unique_ptr<Seat> seat_;
  uint64_t at_ = 0;
  Bytes content_;
};

TEST_F(RightsTest, ReadOnlySessionsChangeNothing) {
  auto reader = Open(/*read_only=*/true);
  ASSERT_NE(reader, nullptr);
  const uint64_t word = WordOf(content_, 0);
  const std::vector<std::pair<std::string, Fill>> forbidden = {
      {"WRITE", [&](Chain& c) { c.Write(at_, 0, 8, nullptr, 0); }},
      {"CAS that would swap", [&](Chain& c) { c.CompareSwap(at_, word, 1); }},
      {"CAS that would fail", [&](Chain& c) { c.CompareSwap(at_, word + 1, 1); }},
      {"FETCH_ADD", [&](Chain& c) { c.FetchAdd(at_, 1); }},
      {"FETCH_ADD of nothing", [&](Chain& c) { c.FetchAdd(at_, 0); }},
      {"READ, then WRITE",
       [&](Chain& c) {
         c.Read(at_, 8, 0);
         c.Write(at_, 0, 8, nullptr, 0);
       }},
      {"CAS, then READ",
       [&](Chain& c) {
         c.CompareSwap(at_, word, 1);
         c.Read(at_, 8, 0);
       }},
  };
  for (const auto& [what, fill] : forbidden) ExpectRefused(reader->channel(), what, fill);
}

TEST_F(RightsTest, ReadOnlySessionsReadEverything) {
  auto reader = Open(/*read_only=*/true);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(Fetch(reader->channel(), at_, kRoom), content_);
  EXPECT_EQ(FetchWord(reader->channel(), at_ + 24), WordOf(content_, 3));
  EXPECT_EQ(Fetch(reader->channel(), 0, 64).size(), 64u);
  EXPECT_EQ(Fetch(reader->channel(), reader->region_bytes() - 8, 8).size(), 8u);
}

TEST_F(RightsTest, RangesOutsideTheRegionAreRefused) {
  Channel& channel = seat_->channel();
  const uint64_t end = seat_->region_bytes();
  const uint64_t highest = ~uint64_t{0};
  for (const auto& [remote, bytes] :
       std::vector<std::pair<uint64_t, uint32_t>>{{end, 1},
                                                  {end, 8},
                                                  {end - 1, 2},
                                                  {end - 7, 8},
                                                  {end - 8, 9},
                                                  {end - 8, 0xFFFFFFFF},
                                                  {end + 4096, 8},
                                                  {end + 1, 0},
                                                  {highest, 1},
                                                  {highest - 7, 8},
                                                  {highest - 7, 16},
                                                  {uint64_t{1} << 63, 8}}) {
    const std::string where = std::to_string(bytes) + " bytes at " + std::to_string(remote);
    ExpectRefused(channel, "READ of " + where,
                  [&, r = remote, n = bytes](Chain& c) { c.Read(r, n, 0); });
    ExpectRefused(channel, "READ by reference of " + where,
                  [&, r = remote, n = bytes](Chain& c) { c.ReadByReference(r, n, 0); });
    ExpectRefused(channel, "WRITE of " + where,
                  [&, r = remote, n = bytes](Chain& c) { c.Write(r, 0, n, nullptr, 0); });
    if (bytes == 0) continue;
    // The tail, too, counts.
    ExpectRefused(channel, "WRITE with a tail, of " + where, [&, r = remote, n = bytes](Chain& c) {
      c.Write(r, 0, n / 2, content_.data(), n - n / 2);
    });
  }
  for (const uint64_t remote : {end, end + 8, highest - 7, uint64_t{1} << 63}) {
    const std::string where = " at " + std::to_string(remote);
    ExpectRefused(channel, "word" + where, [&](Chain& c) { c.ReadWord(remote); });
    ExpectRefused(channel, "CAS" + where, [&](Chain& c) { c.CompareSwap(remote, 0, 1); });
    ExpectRefused(channel, "FETCH_ADD" + where, [&](Chain& c) { c.FetchAdd(remote, 1); });
  }
}

TEST_F(RightsTest, LengthsThatOverflowTogetherAreRefused) {
  ExpectRefused(seat_->channel(), "WRITE of 2^32 + 14 bytes",
                [&](Chain& c) { c.Write(at_, 0, 0xFFFFFFFF, content_.data(), 15); });
}

TEST_F(RightsTest, WordsOffTheirBordersAreRefused) {
  for (const uint64_t off : {1, 2, 4, 7}) {
    const uint64_t remote = at_ + off;
    const std::string where = " at " + std::to_string(off);
    ExpectRefused(seat_->channel(), "word" + where, [&](Chain& c) { c.ReadWord(remote); });
    ExpectRefused(seat_->channel(), "CAS" + where, [&](Chain& c) { c.CompareSwap(remote, 0, 1); });
    ExpectRefused(seat_->channel(), "FETCH_ADD" + where, [&](Chain& c) { c.FetchAdd(remote, 1); });
  }
}

// One forbidden verb, wherever it is, keeps all others of its chain from being executed.
TEST_F(RightsTest, NothingOfARefusedChainIsDone) {
  const uint64_t end = seat_->region_bytes();
  Bytes sink(64, std::byte{0x77});
  for (uint32_t bad = 0; bad < 4; ++bad) {
    ExpectRefused(seat_->channel(), "the verb " + std::to_string(bad) + " is bad", [&](Chain& c) {
      for (uint32_t i = 0; i < 4; ++i) {
        if (i == bad) {
          c.ReadWord(end);
        } else if (i % 3 == 0) {
          c.Write(at_ + 8, 0, 16, nullptr, 0);
        } else if (i % 3 == 1) {
          c.FetchAdd(at_, 1);
        } else {
          c.Read(at_, 64, 0).sink = sink.data();
        }
      }
    });
    EXPECT_EQ(sink, Bytes(64, std::byte{0x77}));
  }
}

TEST_F(RightsTest, TheWholeRegionMayBeRead) {
  const uint64_t end = seat_->region_bytes();
  const std::pair<uint64_t, uint32_t> ranges[] = {{0, 8}, {0, 512}, {end - 8, 8}, {end - 512, 512}};
  for (const auto& [remote, bytes] : ranges) {
    EXPECT_EQ(Fetch(seat_->channel(), remote, bytes).size(), bytes);
  }
  FetchWord(seat_->channel(), end - 8);
}

}  // namespace
}  // namespace dunlin::testing
