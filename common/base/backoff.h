#pragma once

#include <cstdint>
#include <optional>

#include "common/base/random.h"

namespace dunlin {

// Exponential back-off with full jitter: the n-th delay is uniform in [0, min(cap, first << n)], so
// that contenders who collided once don't collide again in step. Pure: it computes delays and never
// waits. Not thread safe.
class Backoff {
 public:
  struct Options {
    int64_t first_nanos = 1'000;    // >= 1
    int64_t cap_nanos = 1'000'000;  // >= first_nanos
    int max_attempts = 16;          // delays to hand out before giving up; >= 0
  };

  Backoff(const Options& options, uint64_t seed);

  // The delay before the next attempt, or nothing when the attempts are used up.
  std::optional<int64_t> NextNanos();

  // Delays handed out since the start or the last Reset().
  int attempts() const { return attempts_; }

  void Reset();

 private:
  Options options_;
  Random random_;
  int64_t ceiling_nanos_;
  int attempts_ = 0;
};

}  // namespace dunlin
