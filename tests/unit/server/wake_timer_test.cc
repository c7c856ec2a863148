#include "server/wake_timer.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace dunlin {
namespace {

constexpr int kPatience = 20'000;  // ms
constexpr int kNever = 3'600'000;

bool Wakes(const WakeTimer& timer, int patience) {
  pollfd waited{timer.fd(), POLLIN, 0};
  return ::poll(&waited, 1, patience) == 1;
}

TEST(WakeTimerTest, WakesAgainAndAgain) {
  WakeTimer timer;
  ASSERT_TRUE(timer.Open().ok());
  timer.Every(1);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Wakes(timer, kPatience)) << i;
    timer.Take();
    timer.Every(1);
  }
}

TEST(WakeTimerTest, AnotherPeriodBeginsAtOnce) {
  WakeTimer timer;
  ASSERT_TRUE(timer.Open().ok());
  EXPECT_FALSE(Wakes(timer, 0)) << "not set yet";
  timer.Every(kNever);
  EXPECT_FALSE(Wakes(timer, 20));
  timer.Every(1);
  EXPECT_TRUE(Wakes(timer, kPatience));
  timer.Every(kNever);
  EXPECT_FALSE(Wakes(timer, 20)) << "what had expired is forgotten";
  timer.Take();
}

}  // namespace
}  // namespace dunlin
