#include "common/base/histogram.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace dunlin {

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

double Histogram::Mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t Histogram::Percentile(double percent) const {
  DUNLIN_CHECK(percent >= 0 && percent <= 100);
  if (count_ == 0) return 0;
  const double exact_rank = std::ceil(percent / 100 * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(exact_rank), 1, count_);
  if (rank == count_) return max_;
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::clamp(MiddleOf(i), min_, max_);
  }
  DUNLIN_UNREACHABLE("the buckets sum up to count_");
}

}  // namespace dunlin
