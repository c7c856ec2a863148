#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "common/base/clock.h"

namespace dunlin {

// The moment at which a call that waits gives up. In the system's time and no other: what waits
// is a socket in the kernel.
class Deadline {
 public:
  static Deadline After(std::chrono::milliseconds time) {
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    const int64_t now = SystemClock().NowNanos();
    if (time.count() <= 0) return Deadline(now);
    if (time.count() >= (kNever - now) / 1'000'000) return Deadline(kNever);
    return Deadline(now + time.count() * 1'000'000);
  }

  // At least 0.
  int64_t NanosLeft() const {
    const int64_t now = SystemClock().NowNanos();
    return now >= at_ ? 0 : at_ - now;
  }

 private:
  explicit Deadline(int64_t at) : at_(at) {}

  int64_t at_;  // Clock::NowNanos
};

}  // namespace dunlin
