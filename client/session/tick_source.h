#pragma once

#include <cstdint>

#include "common/base/fast_clock.h"
#include "common/layout/word.h"

namespace dunlin {

// The server's tick as a session knows it: the word itself where the region is mapped, else this
// machine's clock, set by the last tick that was read. Ages are differences of ticks, so they
// depend on this machine's clock alone. Never goes back until it is given another server. Not
// thread safe.
class TickSource {
 public:
  explicit TickSource(const Clock* clock) : clock_(clock) {}

  void Follow(const uint64_t* word) {
    word_ = word;
    last_ = 0;
  }
  // The tick was `tick` when the clock showed `nanos`. `anew`: it is another server's.
  void Set(uint64_t tick, int64_t nanos, bool anew) {
    word_ = nullptr;
    offset_ = static_cast<int64_t>(tick) * kNanosPerTick - nanos;
    if (anew) last_ = 0;
  }

  uint64_t Now() { return word_ != nullptr ? LoadWord(word_) : Estimated(); }
  int64_t NowNanos() { return clock_.NowNanos(); }

 private:
  static constexpr int64_t kNanosPerTick = 1'000'000;

  // Kept out of the calls on a mapping, which ask twice and never come here.
  [[gnu::noinline]] uint64_t Estimated() {
    const uint64_t now = static_cast<uint64_t>((clock_.NowNanos() + offset_) / kNanosPerTick);
    if (now > last_) last_ = now;
    return last_;
  }

  const uint64_t* word_ = nullptr;
  FastClock clock_;
  int64_t offset_ = 0;
  uint64_t last_ = 0;
};

}  // namespace dunlin
