#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace dunlin::kvbench {

// Time for measuring single operations: the processor's time stamp counter where it is invariant,
// some 10 ns to read, else std::chrono::steady_clock. Thread safe once it is constructed.
class TickClock {
 public:
  // Measures the counter's rate against steady_clock, for some 20 ms.
  TickClock();

  // Waits for the loads before it: what an operation found is there before its end is taken.
  uint64_t Now() const {
#if defined(__x86_64__)
    if (counter_) {
      unsigned processor;
      return __rdtscp(&processor);
    }
#endif
    return SteadyNanos();
  }

  // For the start of an operation: doesn't wait for what is before it, which may therefore count to
  // the operation, and costs half as much.
  uint64_t Start() const {
#if defined(__x86_64__)
    if (counter_) return __rdtsc();
#endif
    return SteadyNanos();
  }

  // Of a difference between two readings. Exact to some millionths.
  uint64_t ToNanos(uint64_t ticks) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>(Wide{ticks} * nanos_per_tick_ >> kShift);
  }
  uint64_t FromNanos(uint64_t nanos) const {
    return static_cast<uint64_t>(static_cast<double>(nanos) * ticks_per_nano_);
  }

  bool counter() const { return counter_; }

 private:
  static constexpr int kShift = 32;

  static uint64_t SteadyNanos() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
  }

  bool counter_ = false;
  uint64_t nanos_per_tick_ = uint64_t{1} << kShift;  // times 2^kShift
  double ticks_per_nano_ = 1;
};

}  // namespace dunlin::kvbench
