// Chains in flight: how many, how they come back, waiting for them, and the lane's frames beside
// them.

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/layout/slot.h"
#include "tests/conformance/fixture.h"

namespace dunlin::testing {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr std::chrono::milliseconds kLanePatience{20'000};

class FlightTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    seat_ = Open();
    ASSERT_NE(seat_, nullptr);
  }
  Channel& channel() { return seat_->channel(); }

  std::unique_ptr<Seat> seat_;
};

TEST_F(FlightTest, DepthChainsComeBackOnceEachWithTheirCookies) {
  const uint32_t depth = channel().depth();
  ASSERT_GE(depth, 1u);
  const uint64_t words = Take(*seat_, 8 * depth);
  Store(channel(), words, Repeat(8 * depth, 0));
  for (int round = 0; round < 20; ++round) {
    std::vector<Chain> chains(depth);
    for (uint32_t i = 0; i < depth; ++i) {
      chains[i].cookie = 1000 + i;
      chains[i].FetchAdd(words + 8 * i, 1);
      chains[i].ReadWord(words + 8 * i);
      channel().Post(&chains[i]);
    }
    std::set<const Chain*> seen;
    for (const Chain* each : TakeBack(channel(), depth)) {
      ASSERT_GE(each, chains.data());
      ASSERT_LT(each, chains.data() + depth);
      EXPECT_TRUE(seen.insert(each).second) << "handed back twice";
      EXPECT_EQ(each->outcome, ChainOutcome::kDone);
      EXPECT_EQ(each->cookie, 1000u + static_cast<uint64_t>(each - chains.data()));
      EXPECT_EQ(each->work[1].result, static_cast<uint64_t>(round) + 1);
    }
    EXPECT_EQ(seen.size(), depth);
    Chain* none = nullptr;
    EXPECT_EQ(channel().Poll(&none, 1), 0u);
  }
}

TEST_F(FlightTest, PollHandsBackAtMostWhatItIsAskedFor) {
  const uint64_t word = Take(*seat_, 8);
  constexpr uint32_t kCount = 16;
  for (const uint32_t max : {1u, 3u, 16u, 100u}) {
    std::vector<Chain> chains(kCount);
    for (Chain& each : chains) {
      each.ReadWord(word);
      channel().Post(&each);
    }
    std::vector<Chain*> taken(101, nullptr);
    EXPECT_EQ(channel().Poll(taken.data(), 0), 0u);
    uint32_t have = 0;
    std::set<const Chain*> seen;
    const SystemClock clock;
    const int64_t give_up = clock.NowNanos() + kPatienceNanos;
    while (have < kCount && clock.NowNanos() < give_up) {
      std::fill(taken.begin(), taken.end(), nullptr);
      const uint32_t n = channel().Poll(taken.data(), max);
      ASSERT_LE(n, max);
      for (uint32_t i = 0; i < n; ++i) EXPECT_TRUE(seen.insert(taken[i]).second);
      EXPECT_EQ(taken[n], nullptr) << "written beyond what it returned";
      have += n;
      if (n == 0) channel().WaitFor(10 * kMilli);
    }
    EXPECT_EQ(have, kCount);
  }
}

TEST_F(FlightTest, NothingInFlightNothingHandedBack) {
  Chain* taken[2] = {nullptr, nullptr};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(channel().Poll(taken, 2), 0u);
  EXPECT_TRUE(channel().broken().ok());
  EXPECT_EQ(taken[0], nullptr);
}

TEST_F(FlightTest, RefusedChainsAmongOthers) {
  const uint64_t word = Take(*seat_, 8);
  StoreWordAt(channel(), word, 0);
  const uint32_t depth = channel().depth();
  std::vector<Chain> chains(depth);
  for (uint32_t i = 0; i < depth; ++i) {
    if (i % 3 == 1) {
      chains[i].FetchAdd(word, 1000);
      chains[i].ReadWord(seat_->region_bytes());
    } else {
      chains[i].FetchAdd(word, 1);
    }
    channel().Post(&chains[i]);
  }
  EXPECT_EQ(TakeBack(channel(), depth).size(), depth);
  uint64_t good = 0;
  for (uint32_t i = 0; i < depth; ++i) {
    const bool refused = i % 3 == 1;
    EXPECT_EQ(chains[i].outcome, refused ? ChainOutcome::kNotExecuted : ChainOutcome::kDone) << i;
    good += !refused;
  }
  EXPECT_EQ(FetchWord(channel(), word), good);
}

// As many as may be, all the time, of all kinds and lengths.
TEST_F(FlightTest, ManyChainsOfAllKindsOneBehindTheOther) {
  constexpr uint32_t kChains = 3000;
  const uint64_t most = std::min<uint64_t>(20'000, traits().largest_work);
  const uint32_t depth = channel().depth();
  struct Place {
    Chain chain;
    uint64_t words = 0;
    uint64_t room = 0;
    uint64_t rounds = 0;
    Bytes content;
    Bytes sink;
  };
  std::vector<Place> places(depth);
  std::deque<Place*> idle;
  for (Place& each : places) {
    each.words = Take(*seat_, 16);
    each.room = Take(*seat_, most);
    each.sink.resize(most);
    StoreWordAt(channel(), each.words, 0);
    idle.push_back(&each);
  }
  Random random(5);
  uint32_t posted = 0;
  for (uint32_t done = 0; done < kChains;) {
    while (!idle.empty() && posted < kChains) {
      Place& place = *idle.front();
      idle.pop_front();
      const uint64_t limit = posted % 8 == 0 ? most : 256;
      const uint32_t length = static_cast<uint32_t>(random.Next() % (limit + 1));
      place.content = Pattern(length, posted + 1);
      place.chain.Clear();
      place.chain.cookie = posted;
      place.chain.Write(place.room, 0, 0, place.content.data(), length);
      // With the READ behind an atomic or behind the WRITE alone.
      if (posted % 2 == 0) place.chain.FetchAdd(place.words, 1);
      place.chain.Read(place.room, length, 0).sink = place.sink.data();
      place.rounds += posted % 2 == 0;
      channel().Post(&place.chain);
      ++posted;
    }
    const std::vector<Chain*> taken = TakeBack(channel(), 1);
    ASSERT_EQ(taken.size(), 1u);
    ++done;
    auto of_chain = [&](const Place& each) { return &each.chain == taken[0]; };
    Place& place = *std::find_if(places.begin(), places.end(), of_chain);
    ASSERT_EQ(place.chain.outcome, ChainOutcome::kDone);
    const size_t length = place.content.size();
    ASSERT_TRUE(std::equal(place.content.begin(), place.content.end(), place.sink.begin()))
        << length << " bytes of chain " << place.chain.cookie;
    idle.push_back(&place);
  }
  for (const Place& each : places) EXPECT_EQ(FetchWord(channel(), each.words), each.rounds);
}

TEST_F(FlightTest, WaitForReturnsOnceAChainHasFinished) {
  const uint64_t word = Take(*seat_, 8);
  StoreWordAt(channel(), word, 0);
  const SystemClock clock;
  for (const bool atomic : {false, true}) {
    const int64_t before = clock.NowNanos();
    for (int i = 0; i < 20; ++i) {
      Chain chain;
      if (atomic) {
        chain.FetchAdd(word, 1);
      } else {
        chain.ReadWord(word);
      }
      channel().Post(&chain);
      Chain* taken = nullptr;
      while (channel().Poll(&taken, 1) == 0) channel().WaitFor(10'000 * kMilli);
      ASSERT_EQ(chain.outcome, ChainOutcome::kDone);
    }
    EXPECT_LT(clock.NowNanos() - before, 5000 * kMilli) << "slept although a chain had finished";
  }
}

TEST_F(FlightTest, WaitForReturnsAtOnceWhatIsFinishedAndNotHandedBack) {
  const uint64_t word = Take(*seat_, 8);
  Chain chains[4];
  for (Chain& each : chains) {
    each.ReadWord(word);
    channel().Post(&each);
  }
  Chain* taken = nullptr;
  const SystemClock clock;
  int64_t before = clock.NowNanos();
  for (int i = 0; i < 4; ++i) {
    while (channel().Poll(&taken, 1) == 0) channel().WaitFor(10'000 * kMilli);
  }
  EXPECT_LT(clock.NowNanos() - before, 2000 * kMilli);
}

TEST_F(FlightTest, WaitForEndsAtItsLimitWithNothingInFlight) {
  const SystemClock clock;
  for (const int64_t limit : {int64_t{0}, int64_t{1}, 20 * kMilli}) {
    const int64_t before = clock.NowNanos();
    channel().WaitFor(limit);
    EXPECT_LT(clock.NowNanos() - before, limit + 1000 * kMilli);
  }
  EXPECT_TRUE(channel().broken().ok());
}

// A server that is stopped answers nothing: whoever waits for it sleeps, and wakes up in time.
TEST_F(FlightTest, WaitForSleepsUntilItsLimitWhileTheServerIsSilent) {
  if (!traits().has_server || traits().executes_in_poll)
    GTEST_SKIP() << "no chain waits for a server";
  const uint64_t word = Take(*seat_, 8);
  StoreWordAt(channel(), word, 0);
  site().StopServer();
  Chain chain;
  chain.FetchAdd(word, 1);
  channel().Post(&chain);
  Chain* taken = nullptr;
  const SystemClock clock;
  const int64_t before = clock.NowNanos();
  bool back = false;
  uint32_t waits = 0;
  while (!back && clock.NowNanos() < before + 200 * kMilli) {
    back = channel().Poll(&taken, 1) == 1;
    if (back) break;
    channel().WaitFor(20 * kMilli);
    ++waits;
  }
  const int64_t passed = clock.NowNanos() - before;
  EXPECT_LT(passed, 2000 * kMilli);
  // Where an adapter carries out atomics, the chain needs no server.
  if (!back) {
    EXPECT_LT(waits, 1000u) << "waited by spinning";
  }
  site().ContinueServer();
  if (!back) {
    EXPECT_EQ(TakeBack(channel(), 1).size(), 1u);
  }
  EXPECT_EQ(chain.outcome, ChainOutcome::kDone);
  EXPECT_EQ(FetchWord(channel(), word), 1u);
}

TEST_F(FlightTest, WaitForReturnsAtOnceWhereChainsAreCarriedOutInPoll) {
  if (!traits().executes_in_poll)
    GTEST_SKIP() << "the chains of this fabric are carried out elsewhere";
  const SystemClock clock;
  const int64_t before = clock.NowNanos();
  Chain chain;
  chain.ReadWord(Take(*seat_, 8));
  channel().Post(&chain);
  channel().WaitFor(10'000 * kMilli);
  EXPECT_LT(clock.NowNanos() - before, 1000 * kMilli);
  EXPECT_EQ(TakeBack(channel(), 1).size(), 1u);
}

// Half of what may be in flight is posted before a request on the lane, and comes back after it.
class LaneBesideChainsTest : public FlightTest {
 protected:
  void SetUp() override {
    FlightTest::SetUp();
    if (seat_->lane() == nullptr) GTEST_SKIP() << "no lane here";
    words_ = Take(*seat_, 8 * kChains);
    room_ = Take(*seat_, kChains * kBytes);
    Store(channel(), words_, Repeat(8 * kChains, 0));
    content_ = Pattern(kChains * kBytes, 17);
    Store(channel(), room_, content_);
    sinks_.resize(kChains * kBytes);
  }
  void PostSome() {
    std::fill(sinks_.begin(), sinks_.end(), std::byte{0});
    for (uint32_t i = 0; i < kChains; ++i) {
      chains_[i].Clear();
      chains_[i].FetchAdd(words_ + 8 * i, 1);
      chains_[i].Read(room_ + i * kBytes, kBytes, 0).sink = sinks_.data() + i * kBytes;
      channel().Post(&chains_[i]);
    }
    ++rounds_;
  }
  void ExpectAllBack() {
    ASSERT_EQ(TakeBack(channel(), kChains).size(), size_t{kChains});
    for (const Chain& each : chains_) {
      ASSERT_EQ(each.outcome, ChainOutcome::kDone) << channel().broken();
      EXPECT_EQ(each.work[0].result, rounds_ - 1);
    }
    EXPECT_EQ(sinks_, content_);
    EXPECT_TRUE(channel().broken().ok());
  }
  Lane& lane() { return *seat_->lane(); }

  static constexpr uint32_t kChains = 32;
  static constexpr uint32_t kBytes = 2000;
  uint64_t words_ = 0;
  uint64_t room_ = 0;
  uint64_t rounds_ = 0;
  Bytes content_;
  Bytes sinks_;
  Chain chains_[kChains];
};

TEST_F(LaneBesideChainsTest, RequestsForBlocks) {
  uint64_t resolved = 0;
  for (int round = 0; round < 10; ++round) {
    PostSome();
    const auto blocks =
        lane().RequestBlocks(ClassFor(64), 100, 0, resolved, Deadline::After(kLanePatience));
    ASSERT_TRUE(blocks.ok()) << blocks.status();
    EXPECT_EQ(blocks->words.size(), 100u);
    std::vector<ReturnedBlock> returned;
    for (const uint64_t word : blocks->words) returned.push_back({word, 0});
    const absl::Status given =
        lane().ReturnBlocks(returned, resolved, Deadline::After(kLanePatience));
    ASSERT_TRUE(given.ok()) << given;
    ExpectAllBack();
  }
}

TEST_F(LaneBesideChainsTest, LongMessages) {
  // Of blocks that were never handed out: the server reads, refuses and forgets them.
  const std::vector<ReturnedBlock> many(Lane::kMaxReturnedBlocks);
  for (int round = 0; round < 5; ++round) {
    PostSome();
    const absl::Status given = lane().ReturnBlocks(many, 0, Deadline::After(kLanePatience));
    ASSERT_TRUE(given.ok()) << given;
    ExpectAllBack();
    PostSome();
    const auto status = lane().Status({}, Deadline::After(kLanePatience));
    ASSERT_TRUE(status.ok()) << status.status();
    ExpectAllBack();
  }
}

TEST_F(LaneBesideChainsTest, PingsBetweenPosts) {
  for (int round = 0; round < 20; ++round) {
    PostSome();
    for (int i = 0; i < 3; ++i) {
      const auto reply = lane().Ping(Deadline::After(kLanePatience));
      ASSERT_TRUE(reply.ok()) << reply.status();
    }
    ExpectAllBack();
  }
}

TEST_F(LaneBesideChainsTest, TheLaneIsQuietAmongChainReplies) {
  for (int round = 0; round < 20; ++round) {
    PostSome();
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(lane().HungUp()) << lane().broken();
    ExpectAllBack();
    EXPECT_FALSE(lane().HungUp()) << lane().broken();
  }
  // Blocks come in answer to one who asks, and to nobody else.
  PostSome();
  EXPECT_FALSE(lane().HungUp());
  const auto blocks = lane().RequestBlocks(ClassFor(64), 1, 0, 0, Deadline::After(kLanePatience));
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_FALSE(lane().HungUp());
  ExpectAllBack();
}

}  // namespace
}  // namespace dunlin::testing
