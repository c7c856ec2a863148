#include "bench/raw_verbs/tsc.h"

#include "common/base/clock.h"

namespace dunlin::bench {

TscScale::TscScale() : ticks_(TscNow()), nanos_(SystemClock().NowNanos()) {}

double TscScale::NanosPerTick() const {
  const int64_t nanos = SystemClock().NowNanos() - nanos_;
  const uint64_t ticks = TscNow() - ticks_;
  return static_cast<double>(nanos) / static_cast<double>(ticks);
}

}  // namespace dunlin::bench
