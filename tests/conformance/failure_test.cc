// What comes of chains when a channel breaks or its server dies.

#include <algorithm>
#include <set>
#include <vector>

#include "common/base/clock.h"
#include "tests/conformance/fixture.h"

namespace dunlin::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class FailureTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    seat_ = Open();
    witness_ = Open();
    ASSERT_TRUE(seat_ != nullptr && witness_ != nullptr);
    depth_ = channel().depth();
    // The witness's: what the broken session owned may be somebody else's soon.
    words_ = Take(*witness_, 8 * depth_);
    Store(witness_->channel(), words_, Repeat(8 * depth_, 0));
    room_ = Take(*witness_, kBytes);
    Store(witness_->channel(), room_, Pattern(kBytes, 31));
  }
  Channel& channel() { return seat_->channel(); }

  // Chains that each raise a word of their own and read.
  void PostAll() {
    chains_ = std::vector<Chain>(depth_);
    sinks_.assign(depth_ * kSink, std::byte{0});
    for (uint32_t i = 0; i < depth_; ++i) {
      Chain& chain = chains_[i];
      chain.cookie = i;
      chain.FetchAdd(words_ + 8 * i, 1);
      chain.Read(room_ + (i * kSink) % (kBytes - kSink), kSink, 0).sink = sinks_.data() + i * kSink;
      channel().Post(&chain);
    }
  }
  // Takes all back, each once.
  void ExpectAllBack() {
    std::set<const Chain*> seen;
    for (const Chain* each : TakeBack(channel(), depth_)) seen.insert(each);
    ASSERT_EQ(seen.size(), size_t{depth_});
    for (const Chain& each : chains_) {
      EXPECT_TRUE(seen.contains(&each));
      EXPECT_NE(each.outcome, ChainOutcome::kPending);
    }
    Chain* more = nullptr;
    for (int i = 0; i < 10; ++i) ASSERT_EQ(channel().Poll(&more, 1), 0u) << "handed back twice";
  }
  // The witness looks at what the chains did.
  void ExpectOutcomesAreTrue() {
    for (uint32_t i = 0; i < depth_; ++i) {
      const uint64_t word = FetchWord(witness_->channel(), words_ + 8 * i);
      switch (chains_[i].outcome) {
        case ChainOutcome::kDone:
          EXPECT_EQ(word, 1u) << "chain " << i << " came back as done";
          break;
        case ChainOutcome::kNotExecuted:
          EXPECT_EQ(word, 0u) << "chain " << i << " came back as not executed";
          break;
        default:
          EXPECT_LE(word, 1u) << "chain " << i << " was executed twice";
      }
    }
  }
  void ExpectRefusesFromNowOn() {
    for (int i = 0; i < 3; ++i) {
      Chain chain;
      chain.FetchAdd(words_, 1000);
      EXPECT_EQ(Carry(channel(), chain), ChainOutcome::kNotExecuted);
    }
    EXPECT_LE(FetchWord(witness_->channel(), words_), 1u);
  }
  // A while in which whatever was under way arrives.
  void LetThingsArrive() {
    for (int i = 0; i < 200; ++i) Fetch(witness_->channel(), room_, kBytes);
  }

  static constexpr uint32_t kSink = 512;
  static constexpr uint32_t kBytes = 16'384;
  std::unique_ptr<Seat> seat_;
  std::unique_ptr<Seat> witness_;
  uint32_t depth_ = 0;
  uint64_t words_ = 0;
  uint64_t room_ = 0;
  std::vector<Chain> chains_;
  Bytes sinks_;
};

TEST_F(FailureTest, BreakHandsBackWhatIsInFlight) {
  PostAll();
  channel().Break(absl::UnavailableError("the test broke it"));
  EXPECT_EQ(channel().broken(), absl::UnavailableError("the test broke it"));
  ExpectAllBack();
  LetThingsArrive();
  ExpectOutcomesAreTrue();
  ExpectRefusesFromNowOn();
}

TEST_F(FailureTest, BreakLeavesDoneWhatWasDone) {
  PostAll();
  Chain* first = nullptr;
  while (channel().Poll(&first, 1) == 0) channel().WaitFor(kSecond);
  EXPECT_EQ(first->outcome, ChainOutcome::kDone);
  channel().Break(absl::UnavailableError("the test broke it"));
  EXPECT_EQ(TakeBack(channel(), depth_ - 1).size(), depth_ - 1);
  EXPECT_EQ(first->outcome, ChainOutcome::kDone);
  LetThingsArrive();
  ExpectOutcomesAreTrue();
}

// Executed, but the answers were never looked at: nobody may be told that nothing was done.
TEST_F(FailureTest, BreakAfterTheExecutionIsNotCalledNotExecuted) {
  PostAll();
  Chain* none = nullptr;
  ASSERT_EQ(channel().Poll(&none, 0), 0u);
  // Where nothing happens before the next Poll this is in vain.
  const uint64_t last = words_ + 8 * (depth_ - 1);
  for (int i = 0; i < 500 && FetchWord(witness_->channel(), last) == 0; ++i) continue;
  channel().Break(absl::UnavailableError("the test broke it"));
  ExpectAllBack();
  LetThingsArrive();
  ExpectOutcomesAreTrue();
}

TEST_F(FailureTest, TheFirstReasonIsKept) {
  channel().Break(absl::UnavailableError("first"));
  channel().Break(absl::DeadlineExceededError("second"));
  EXPECT_EQ(channel().broken(), absl::UnavailableError("first"));
  ExpectRefusesFromNowOn();
  EXPECT_EQ(channel().broken(), absl::UnavailableError("first"));
}

TEST_F(FailureTest, WaitForABrokenChannelReturnsAtOnce) {
  PostAll();
  channel().Break(absl::UnavailableError("the test broke it"));
  const SystemClock clock;
  const int64_t before = clock.NowNanos();
  channel().WaitFor(60 * kSecond);
  EXPECT_LT(clock.NowNanos() - before, 5 * kSecond);
  ExpectAllBack();
}

TEST_F(FailureTest, OtherSessionsGoOn) {
  PostAll();
  channel().Break(absl::UnavailableError("the test broke it"));
  ExpectAllBack();
  EXPECT_TRUE(witness_->channel().broken().ok());
  auto another = Open();
  ASSERT_NE(another, nullptr);
  EXPECT_EQ(Fetch(another->channel(), room_, kBytes), Pattern(kBytes, 31));
}

// Whoever got its buffers back may use them, whatever is still under way.
TEST_F(FailureTest, BuffersHandedBackAreNotWrittenToAgain) {
  constexpr std::byte kMine{0xC3};
  for (int round = 0; round < 5; ++round) {
    seat_ = Open();
    ASSERT_NE(seat_, nullptr);
    const bool stop = traits().has_server && round % 2 == 0;
    if (stop) site().StopServer();
    PostAll();
    // So that some are on their way.
    Chain* taken[1];
    uint32_t back = channel().Poll(taken, 1);
    channel().Break(absl::UnavailableError("the test broke it"));
    back += static_cast<uint32_t>(TakeBack(channel(), depth_ - back).size());
    ASSERT_EQ(back, depth_);
    std::fill(sinks_.begin(), sinks_.end(), kMine);
    for (Chain& each : chains_) {
      each.work[0].result = each.work[1].result = 0xC3C3;
      each.outcome = ChainOutcome::kPending;
    }
    if (stop) site().ContinueServer();
    LetThingsArrive();
    Chain* more = nullptr;
    EXPECT_EQ(channel().Poll(&more, 1), 0u);
    EXPECT_TRUE(std::all_of(sinks_.begin(), sinks_.end(), [](std::byte b) { return b == kMine; }));
    for (const Chain& each : chains_) {
      EXPECT_EQ(each.work[0].result, 0xC3C3u);
      EXPECT_EQ(each.outcome, ChainOutcome::kPending);
    }
  }
}

TEST_F(FailureTest, ADestroyedChannelLetsGoOfBuffers) {
  constexpr std::byte kMine{0xC3};
  PostAll();
  Chain* taken[1];
  channel().Poll(taken, 1);
  seat_.reset();
  std::fill(sinks_.begin(), sinks_.end(), kMine);
  LetThingsArrive();
  EXPECT_TRUE(std::all_of(sinks_.begin(), sinks_.end(), [](std::byte b) { return b == kMine; }));
}

TEST_F(FailureTest, LaneAndChannelOfOneConnectionBreakTogether) {
  if (!traits().shares_connection || seat_->lane() == nullptr) GTEST_SKIP() << "two connections";
  PostAll();
  channel().Break(absl::UnavailableError("the test broke it"));
  EXPECT_EQ(seat_->lane()->broken(), channel().broken());
  EXPECT_TRUE(seat_->lane()->HungUp());
  ExpectAllBack();
  seat_ = Open();
  ASSERT_NE(seat_, nullptr);
  // A request on the lane that is not answered in time.
  site().StopServer();
  PostAll();
  const auto reply = seat_->lane()->Ping(Deadline::After(std::chrono::milliseconds(50)));
  site().ContinueServer();
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kDeadlineExceeded) << reply.status();
  EXPECT_EQ(channel().broken(), seat_->lane()->broken());
  ExpectAllBack();
}

// Each of the next ones ends a server.
class DyingServerTest : public FailureTest {
 protected:
  void SetUp() override {
    RenewSite();
    FailureTest::SetUp();
    if (!traits().has_server) GTEST_SKIP() << "no server here";
  }
  void ExpectAllBackSoon() {
    const SystemClock clock;
    const int64_t before = clock.NowNanos();
    ExpectAllBack();
    EXPECT_LT(clock.NowNanos() - before, 5 * kSecond);
  }
};

TEST_F(DyingServerTest, KilledWithChainsInFlight) {
  PostAll();
  Chain* taken[1];
  ASSERT_EQ(channel().Poll(taken, 0), 0u);
  site().KillServer();
  ExpectAllBackSoon();
}

TEST_F(DyingServerTest, KilledWithChainsInFlightThatItNeverSaw) {
  site().StopServer();
  PostAll();
  Chain* taken[1];
  ASSERT_EQ(channel().Poll(taken, 0), 0u);
  site().KillServer();
  ExpectAllBackSoon();
}

// Nobody tells a session that is idle; its next chain is either refused or lost, and soon.
TEST_F(DyingServerTest, KilledWhileNothingIsInFlight) {
  site().KillServer();
  PostAll();
  ExpectAllBackSoon();
  if (traits().executes_in_poll) return;  // the mapping outlives the server: its lane tells
  for (const Chain& each : chains_) EXPECT_NE(each.outcome, ChainOutcome::kDone);
  EXPECT_FALSE(channel().broken().ok());
  Chain chain;
  chain.ReadWord(words_);
  EXPECT_EQ(Carry(channel(), chain), ChainOutcome::kNotExecuted);
}

TEST_F(DyingServerTest, KilledInTheMiddleOfALongRead) {
  constexpr uint32_t kLong = 1u << 20;
  const uint64_t at = Take(*witness_, kLong);
  Bytes sink(kLong);
  Chain chain;
  chain.Read(at, kLong, 0).sink = sink.data();
  channel().Post(&chain);
  site().KillServer();
  const SystemClock clock;
  const int64_t before = clock.NowNanos();
  ASSERT_EQ(TakeBack(channel(), 1).size(), 1u);
  EXPECT_LT(clock.NowNanos() - before, 5 * kSecond);
  std::fill(sink.begin(), sink.end(), std::byte{0xC3});
  for (int i = 0; i < 20; ++i) {
    Chain* more = nullptr;
    EXPECT_EQ(channel().Poll(&more, 1), 0u);
    channel().WaitFor(1'000'000);
  }
  EXPECT_EQ(sink, Bytes(kLong, std::byte{0xC3}));
}

}  // namespace
}  // namespace dunlin::testing
