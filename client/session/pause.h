#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

namespace dunlin {

// Leaves the core to others for about `nanos`: the step between two attempts of a bounded back-off.
// Below what a timer can do it only yields.
inline void Pause(int64_t nanos) {
  constexpr int64_t kTimerFloor = 50'000;
  if (nanos < kTimerFloor) {
    sched_yield();
    return;
  }
  timespec time{nanos / 1'000'000'000, nanos % 1'000'000'000};
  // Cut short by a signal, the attempt just comes sooner.
  (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace dunlin
