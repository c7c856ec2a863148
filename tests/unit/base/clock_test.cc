#include "common/base/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cstdint>

namespace dunlin {
namespace {

int64_t ReadNanos(clockid_t id) {
  timespec time{};
  EXPECT_EQ(clock_gettime(id, &time), 0);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TEST(SystemClock, ReadsBoottimeAndRealtime) {
  const SystemClock clock;
  const int64_t boot_before = ReadNanos(CLOCK_BOOTTIME);
  const int64_t boot = clock.NowNanos();
  EXPECT_LE(boot_before, boot);
  EXPECT_LE(boot, ReadNanos(CLOCK_BOOTTIME));

  // The wall clock may be set meanwhile; a minute of tolerance tells it from any other clock.
  EXPECT_NEAR(static_cast<double>(clock.WallNanos()),
              static_cast<double>(ReadNanos(CLOCK_REALTIME)), 60e9);
}

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock(100, 5000);
  EXPECT_EQ(clock.NowNanos(), 100);
  EXPECT_EQ(clock.NowNanos(), 100);
  clock.Advance(7);
  EXPECT_EQ(clock.NowNanos(), 107);
  EXPECT_EQ(clock.WallNanos(), 5007);
  clock.SetWall(1);
  EXPECT_EQ(clock.NowNanos(), 107);
  EXPECT_EQ(clock.WallNanos(), 1);
}

}  // namespace
}  // namespace dunlin
