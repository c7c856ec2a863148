#include "common/base/fast_clock.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

constexpr int64_t kMs = 1'000'000;

uint64_t fake_count = 0;
uint64_t ReadFake() { return fake_count; }

// A counter of 3 counts a nanosecond and a clock, moved together.
class FastClockTest : public ::testing::Test {
 protected:
  FastClockTest() { fake_count = 1'000; }
  void Pass(int64_t nanos) {
    clock_.Advance(nanos);
    fake_count += static_cast<uint64_t>(nanos) * 3;
  }
  // Until the rate is known.
  void Settle() {
    for (int i = 0; i < 12; ++i) {
      Pass(kMs);
      fast_.NowNanos();
    }
  }

  ManualClock clock_{kMs};
  FastClock fast_{&clock_, ReadFake};
};

TEST_F(FastClockTest, BeforeTheRateIsKnownTheClockIsAsked) {
  Pass(100);
  EXPECT_EQ(fast_.NowNanos(), clock_.NowNanos());
  clock_.Advance(kMs);
  EXPECT_EQ(fast_.NowNanos(), clock_.NowNanos());
}

TEST_F(FastClockTest, ThenTheCounterAloneIsRead) {
  Settle();
  const int64_t before = clock_.NowNanos();
  fake_count += 3 * kMs;
  EXPECT_NEAR(static_cast<double>(fast_.NowNanos()), static_cast<double>(before + kMs), 2000);
}

TEST_F(FastClockTest, FollowsOverHours) {
  Settle();
  for (int i = 0; i < 100'000; ++i) {
    Pass(37 * kMs);
    ASSERT_NEAR(static_cast<double>(fast_.NowNanos()), static_cast<double>(clock_.NowNanos()), 5e4);
  }
}

TEST_F(FastClockTest, ASuspensionShowsAsAJumpForward) {
  Settle();
  clock_.Advance(10'000 * kMs);
  fake_count += 3 * 40 * kMs;
  EXPECT_EQ(fast_.NowNanos(), clock_.NowNanos());
}

TEST_F(FastClockTest, ACounterThatGoesBackIsNoticedAtOnce) {
  Settle();
  const int64_t before = fast_.NowNanos();
  clock_.Advance(7 * kMs);
  fake_count = 5;
  const int64_t after = fast_.NowNanos();
  EXPECT_EQ(after, clock_.NowNanos());
  EXPECT_GE(after, before);
}

TEST_F(FastClockTest, NeverGoesBack) {
  Settle();
  int64_t last = fast_.NowNanos();
  for (int i = 0; i < 1000; ++i) {
    clock_.Advance(kMs);
    // Runs a tenth fast, then a tenth slow.
    fake_count += static_cast<uint64_t>(kMs) * (i % 200 < 100 ? 33 : 27) / 10;
    const int64_t now = fast_.NowNanos();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(FastClockHereTest, AgreesWithTheSystem) {
  SystemClock clock;
  FastClock fast(&clock);
  const int64_t end = clock.NowNanos() + 50 * kMs;
  int64_t last = 0;
  while (clock.NowNanos() < end) {
    const int64_t now = fast.NowNanos();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_NEAR(static_cast<double>(fast.NowNanos()), static_cast<double>(clock.NowNanos()), 2e6);
}

}  // namespace
}  // namespace dunlin
