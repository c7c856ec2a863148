#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace dunlin {

// A log-linear histogram of durations in nanoseconds: each power of two is cut into 512 equal
// steps, so a reported value is within 0.1 % of the recorded one. Fixed memory, about 140 KiB;
// Record() costs an increment. Values above kMax count as kMax. Not thread safe: one a thread, then
// Merge().
class Histogram {
 public:
  static constexpr int kStepBits = 9;
  static constexpr int kMaxBits = 42;
  static constexpr uint64_t kMax = (uint64_t{1} << kMaxBits) - 1;  // about 73 minutes

  Histogram() = default;

  void Record(uint64_t nanos) {
    if (nanos > kMax) nanos = kMax;
    ++counts_[IndexOf(nanos)];
    ++count_;
    sum_ += nanos;
    if (nanos < min_) min_ = nanos;
    if (nanos > max_) max_ = nanos;
  }

  void Merge(const Histogram& other);
  void Reset() { *this = Histogram(); }

  uint64_t count() const { return count_; }
  // Exact (but for the clamp to kMax); 0 when empty.
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double Mean() const;

  // The least recorded value (within 0.1 %) that `percent` of all values don't exceed; 0 when
  // empty. Percentile(50) is the median, Percentile(100) the maximum. REQUIRES: 0 <= percent <=
  // 100.
  uint64_t Percentile(double percent) const;

  // Calls visit(highest, count) for each step in which something was recorded, ascending; `highest`
  // is the largest value that the step holds.
  template <typename Visit>
  void ForEachStep(Visit visit) const {
    for (size_t i = 0; i < kBuckets; ++i) {
      if (counts_[i] != 0) visit(LowestOf(i + 1) - 1, counts_[i]);
    }
  }

 private:
  static constexpr uint64_t kSteps = uint64_t{1} << kStepBits;
  static constexpr size_t kBuckets = (kMaxBits - kStepBits + 1) * kSteps;

  // Values below 2 * kSteps have a bucket each; above, the leading kStepBits + 1 bits choose.
  static constexpr size_t IndexOf(uint64_t value) {
    if (value < kSteps) return value;
    const int shift = std::bit_width(value) - 1 - kStepBits;
    return (static_cast<size_t>(shift) << kStepBits) + (value >> shift);
  }
  static constexpr uint64_t LowestOf(size_t index) {
    if (index < 2 * kSteps) return index;
    const int shift = static_cast<int>(index >> kStepBits) - 1;
    return (kSteps + (index & (kSteps - 1))) << shift;
  }
  static constexpr uint64_t MiddleOf(size_t index) {
    return (LowestOf(index) + LowestOf(index + 1)) / 2;
  }

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;  // 2^64 ns are 584 years of recorded time
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
};

}  // namespace dunlin
