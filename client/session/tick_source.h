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
  // The tick was `tick` at some moment from `asked` to `answered`; half way is the best guess.
  // Ignored if what is known already is nearer to the truth: who was held up in between, by the
  // scheduler or by a signal, learns little. `anew`: it is another server's.
  void Set(uint64_t tick, int64_t asked, int64_t answered, bool anew) {
    const int64_t error = (answered - asked) / 2;
    const int64_t known = error_ + (answered - set_at_) / kDriftFraction;
    const bool first = word_ != nullptr || set_at_ == 0;
    if (!anew && !first && error > kGoodError && error > known) return;
    word_ = nullptr;
    offset_ = static_cast<int64_t>(tick) * kNanosPerTick - (asked + error);
    error_ = error;
    set_at_ = answered;
    if (anew) last_ = 0;
  }
  // By how much the tick may be off, at least, after that was said last.
  int64_t error() const { return word_ != nullptr ? 0 : error_; }
  static constexpr int64_t kGoodError = 1'000'000;

  uint64_t Now() { return word_ != nullptr ? LoadWord(word_) : Estimated(); }
  int64_t NowNanos() { return clock_.NowNanos(); }

 private:
  static constexpr int64_t kNanosPerTick = 1'000'000;
  // Two machines' clocks part by less than 1/4096, 244 millionths.
  static constexpr int64_t kDriftFraction = 4096;

  // Kept out of the calls on a mapping, which ask twice and never come here.
  [[gnu::noinline]] uint64_t Estimated() {
    const uint64_t now = static_cast<uint64_t>((clock_.NowNanos() + offset_) / kNanosPerTick);
    if (now > last_) last_ = now;
    return last_;
  }

  const uint64_t* word_ = nullptr;
  FastClock clock_;
  int64_t offset_ = 0;
  int64_t error_ = 0;
  int64_t set_at_ = 0;
  uint64_t last_ = 0;
};

}  // namespace dunlin
