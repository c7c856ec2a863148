#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "common/base/clock.h"

namespace dunlin {

// The time of a Clock (CLOCK_BOOTTIME) at the cost of reading a register, for loops in which a
// system call would show: an invariant time-stamp counter, held against the clock every 32 ms by
// its own account. Where the two disagree, after a suspension or a step of the counter, the clock
// counts, and the time jumps forward; it never goes back. Without such a counter every reading asks
// the clock. Not thread safe.
class FastClock {
 public:
  // Reads the processor's own counter, if it is invariant and goes with that clock.
  explicit FastClock(const Clock* clock);
  // For tests.
  using ReadCounter = uint64_t (*)();
  FastClock(const Clock* clock, ReadCounter read);

  int64_t NowNanos() {
    if (read_ == nullptr) return clock_->NowNanos();
    const uint64_t count = read_();
    const uint64_t since = count - anchor_count_;
    // A counter that went back makes this huge.
    if (since >= trusted_) return Anchor(count);
    const int64_t now = anchor_nanos_ + static_cast<int64_t>(since * rate_ >> kRateShift);
    if (now > last_) last_ = now;
    return last_;
  }

 private:
  static constexpr int kRateShift = 24;
  static constexpr int64_t kTrusted = 32'000'000;
  static constexpr int64_t kBaseline = 5'000'000;  // to measure the rate over

  int64_t Anchor(uint64_t count);
  bool Plausible(uint64_t count, int64_t nanos) const;

  const Clock* clock_;
  ReadCounter read_;
  uint64_t anchor_count_ = 0;
  int64_t anchor_nanos_ = 0;
  uint64_t trusted_ = 0;  // counts from the anchor that may be translated; 0: none yet
  uint64_t rate_ = 0;     // nanoseconds a count, times 2^kRateShift
  uint64_t base_count_ = 0;
  int64_t base_nanos_ = 0;
  int64_t last_ = 0;  // handed out
};

}  // namespace dunlin
