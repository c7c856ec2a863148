#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace dunlin::bench {

// Time in ticks of the CPU's time stamp counter: some 10 ns to read, where in a virtual machine the
// system's clock may cost more than what is to be measured.
inline uint64_t TscNow() {
  unsigned processor;
  // Waits for the loads before it: a completion is seen before its time is taken.
  return __rdtscp(&processor);
}

// What a tick is in nanoseconds, by the system's monotonic clock, over the time since construction.
class TscScale {
 public:
  TscScale();
  // The more exact, the longer ago the construction is: a run's length, not an operation's.
  double NanosPerTick() const;

 private:
  uint64_t ticks_;
  int64_t nanos_;
};

}  // namespace dunlin::bench
