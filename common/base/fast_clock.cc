#include "common/base/fast_clock.h"

#include <algorithm>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dunlin {
namespace {

#if defined(__x86_64__)
uint64_t ReadTsc() { return __rdtsc(); }

// It counts at one rate, whatever the processor saves in power.
bool InvariantTsc() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}
#endif

FastClock::ReadCounter Counter() {
#if defined(__x86_64__)
  if (InvariantTsc()) return ReadTsc;
#endif
  return nullptr;
}

// What two readings of one moment may differ by: they are not taken at once.
constexpr int64_t kTolerance = 2'000'000;

}  // namespace

FastClock::FastClock(const Clock* clock)
    : FastClock(clock, clock->has_counter() ? Counter() : nullptr) {}

FastClock::FastClock(const Clock* clock, ReadCounter read) : clock_(clock), read_(read) {
  if (read_ == nullptr) return;
  base_count_ = anchor_count_ = read_();
  base_nanos_ = anchor_nanos_ = clock_->NowNanos();
}

int64_t FastClock::Anchor(uint64_t count) {
  const int64_t nanos = clock_->NowNanos();
  if (!Plausible(count, nanos)) {
    base_count_ = count;
    base_nanos_ = nanos;
    rate_ = trusted_ = 0;
  } else if (nanos - base_nanos_ >= kBaseline && count != base_count_) {
    const auto elapsed = static_cast<unsigned __int128>(nanos - base_nanos_);
    rate_ = std::max<uint64_t>(
        1, static_cast<uint64_t>((elapsed << kRateShift) / (count - base_count_)));
    trusted_ = (static_cast<uint64_t>(kTrusted) << kRateShift) / rate_;
  }
  anchor_count_ = count;
  anchor_nanos_ = nanos;
  last_ = std::max(nanos, last_);
  return last_;
}

// Whether the counter has gone on as the clock has since the last anchor.
bool FastClock::Plausible(uint64_t count, int64_t nanos) const {
  if (count < anchor_count_) return false;
  if (rate_ == 0) return true;
  const auto counts = static_cast<unsigned __int128>(count - anchor_count_);
  const auto predicted = static_cast<int64_t>(counts * rate_ >> kRateShift);
  const int64_t elapsed = nanos - anchor_nanos_;
  return std::llabs(predicted - elapsed) <= kTolerance + elapsed / 100;
}

}  // namespace dunlin
