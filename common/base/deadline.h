#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "common/base/clock.h"

namespace dunlin {

// The moment at which a call that waits gives up. In the system's time unless told otherwise: what
// waits is mostly a socket in the kernel. Refers to its clock.
class Deadline {
 public:
  static Deadline After(std::chrono::milliseconds time,
                        const Clock& clock = SystemClock::Shared()) {
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    const int64_t now = clock.NowNanos();
    if (time.count() <= 0) return Deadline(now, clock);
    if (time.count() >= (kNever - now) / 1'000'000) return Deadline(kNever, clock);
    return Deadline(now + time.count() * 1'000'000, clock);
  }

  // At least 0.
  int64_t NanosLeft() const {
    const int64_t now = clock_->NowNanos();
    return now >= at_ ? 0 : at_ - now;
  }

  const Clock& clock() const { return *clock_; }

 private:
  Deadline(int64_t at, const Clock& clock) : at_(at), clock_(&clock) {}

  int64_t at_;  // of the clock's NowNanos
  const Clock* clock_;
};

}  // namespace dunlin
