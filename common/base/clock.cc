#include "common/base/clock.h"

#include <sched.h>
#include <time.h>

#include "common/base/check.h"

namespace dunlin {
namespace {

int64_t Read(clockid_t id) {
  timespec time;
  DUNLIN_CHECK_EQ(clock_gettime(id, &time), 0);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

int64_t SystemClock::NowNanos() const { return Read(CLOCK_BOOTTIME); }
int64_t SystemClock::WallNanos() const { return Read(CLOCK_REALTIME); }

void SystemClock::Pause(int64_t nanos) const {
  constexpr int64_t kTimerFloor = 50'000;
  if (nanos < kTimerFloor) {
    sched_yield();
    return;
  }
  timespec time{nanos / 1'000'000'000, nanos % 1'000'000'000};
  // Cut short by a signal, the attempt just comes sooner.
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

const Clock& SystemClock::Shared() {
  static const SystemClock clock;
  return clock;
}

void ManualClock::Advance(int64_t nanos) {
  DUNLIN_CHECK_GE(nanos, 0);
  now_.fetch_add(nanos, std::memory_order_acq_rel);
  wall_.fetch_add(nanos, std::memory_order_acq_rel);
}

}  // namespace dunlin
