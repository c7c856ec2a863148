#include "client/session/tick_source.h"

#include <gtest/gtest.h>

#include "common/base/clock.h"

namespace dunlin {
namespace {

constexpr int64_t kMilli = 1'000'000;

TEST(TickSourceTest, HalfWayBetweenQuestionAndAnswer) {
  ManualClock clock(100 * kMilli);
  TickSource ticks(&clock);
  ticks.Set(5000, 100 * kMilli - kMilli, 100 * kMilli + kMilli, true);
  EXPECT_NEAR(static_cast<double>(ticks.Now()), 5000, 1);
}

// A process that was stopped between question and answer would believe the clock to stand back by
// half of that, and find records that have expired.
TEST(TickSourceTest, AnAnswerThatCameLateTeachesNothing) {
  ManualClock clock(100 * kMilli);
  TickSource ticks(&clock);
  ticks.Set(5000, 100 * kMilli, 100 * kMilli, true);
  clock.Advance(300 * kMilli);
  ticks.Set(5001, 101 * kMilli, 400 * kMilli, false);
  EXPECT_NEAR(static_cast<double>(ticks.Now()), 5300, 1);
  EXPECT_LE(ticks.error(), TickSource::kGoodError);
}

TEST(TickSourceTest, ABetterAnswerReplacesABadOne) {
  ManualClock clock(400 * kMilli);
  TickSource ticks(&clock);
  ticks.Set(5000, 100 * kMilli, 400 * kMilli, true);
  EXPECT_GT(ticks.error(), TickSource::kGoodError);
  ticks.Set(5300, 400 * kMilli, 400 * kMilli, false);
  EXPECT_NEAR(static_cast<double>(ticks.Now()), 5300, 1);
}

// After a day the clocks may have parted by more than a slow answer is off.
TEST(TickSourceTest, OldKnowledgeLosesItsWorth) {
  constexpr int64_t kDay = 86'400'000 * kMilli;
  ManualClock clock(100 * kMilli);
  TickSource ticks(&clock);
  ticks.Set(5000, 100 * kMilli, 100 * kMilli, true);
  clock.Advance(kDay);
  const int64_t now = 100 * kMilli + kDay;
  ticks.Set(86'406'000, now - 10 * kMilli, now, false);
  EXPECT_NEAR(static_cast<double>(ticks.Now()), 86'406'005, 1);
}

TEST(TickSourceTest, AnotherServersTickIsTakenAnyhow) {
  ManualClock clock(400 * kMilli);
  TickSource ticks(&clock);
  ticks.Set(5000, 400 * kMilli, 400 * kMilli, true);
  EXPECT_EQ(ticks.Now(), 5000u);
  ticks.Set(7, 300 * kMilli, 400 * kMilli, true);
  EXPECT_NEAR(static_cast<double>(ticks.Now()), 57, 1);
}

}  // namespace
}  // namespace dunlin
