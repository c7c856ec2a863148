#include "common/base/backoff.h"

#include "common/base/check.h"

namespace dunlin {

Backoff::Backoff(const Options& options, uint64_t seed)
    : options_(options), random_(seed), ceiling_nanos_(options.first_nanos) {
  DUNLIN_CHECK_GE(options.first_nanos, 1);
  DUNLIN_CHECK_GE(options.cap_nanos, options.first_nanos);
  DUNLIN_CHECK_GE(options.max_attempts, 0);
}

std::optional<int64_t> Backoff::NextNanos() {
  if (attempts_ >= options_.max_attempts) return std::nullopt;
  ++attempts_;
  const int64_t delay =
      static_cast<int64_t>(random_.Below(static_cast<uint64_t>(ceiling_nanos_) + 1));
  // Compared before doubling, so that it can't overflow.
  ceiling_nanos_ =
      ceiling_nanos_ > options_.cap_nanos / 2 ? options_.cap_nanos : ceiling_nanos_ * 2;
  return delay;
}

void Backoff::Reset() {
  attempts_ = 0;
  ceiling_nanos_ = options_.first_nanos;
}

}  // namespace dunlin
