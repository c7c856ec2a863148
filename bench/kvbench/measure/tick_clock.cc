#include "bench/kvbench/measure/tick_clock.h"

#include <cmath>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dunlin::kvbench {
namespace {

constexpr uint64_t kCalibrationNanos = 20'000'000;

bool InvariantCounter() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return false;
#endif
}

}  // namespace

TickClock::TickClock() {
  if (!InvariantCounter()) return;
  counter_ = true;
  // The shorter it takes to read both, the closer they are: of a few tries the best at each end.
  struct Moment {
    uint64_t ticks = 0, nanos = 0, width = ~uint64_t{0};
  };
  const auto take = [this] {
    Moment best;
    for (int i = 0; i < 16; ++i) {
      const uint64_t before = Now();
      const uint64_t nanos = SteadyNanos();
      const uint64_t width = Now() - before;
      if (width < best.width) best = {before + width / 2, nanos, width};
    }
    return best;
  };
  const Moment first = take();
  while (SteadyNanos() - first.nanos < kCalibrationNanos) {
  }
  const Moment second = take();
  const double rate = static_cast<double>(second.nanos - first.nanos) /
                      static_cast<double>(second.ticks - first.ticks);
  ticks_per_nano_ = 1 / rate;
  nanos_per_tick_ = static_cast<uint64_t>(std::ldexp(rate, kShift));
}

}  // namespace dunlin::kvbench
