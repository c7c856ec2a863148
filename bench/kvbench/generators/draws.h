#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/base/random.h"

namespace dunlin::kvbench {

// YCSB's HotspotIntegerGenerator: a share `operation_fraction` of all draws is from the first
// `data_fraction` of the numbers from `low` to `high`, the rest from the others.
class Hotspot {
 public:
  // REQUIRES: low <= high; both fractions in [0, 1].
  Hotspot(int64_t low, int64_t high, double data_fraction, double operation_fraction)
      : low_(low),
        hot_(static_cast<uint64_t>(static_cast<double>(high - low + 1) * data_fraction)),
        cold_(static_cast<uint64_t>(high - low + 1) - hot_),
        operation_fraction_(operation_fraction) {}

  int64_t Next(Random& random) const {
    const bool hot = random.Unit() < operation_fraction_;
    // Where YCSB would divide by zero: one of the two is empty.
    if ((hot && hot_ > 0) || cold_ == 0) return low_ + static_cast<int64_t>(random.Below(hot_));
    return low_ + static_cast<int64_t>(hot_ + random.Below(cold_));
  }

 private:
  int64_t low_;
  uint64_t hot_, cold_;
  double operation_fraction_;
};

// YCSB's ExponentialGenerator: `percentile` percent of all draws are below `range`.
class Exponential {
 public:
  // REQUIRES: 0 < percentile < 100, range > 0.
  Exponential(double percentile, double range) : gamma_(-std::log(1 - percentile / 100) / range) {}

  int64_t Next(Random& random) const {
    // 1 - u is never 0, of which there is no logarithm.
    return static_cast<int64_t>(-std::log(1 - random.Unit()) / gamma_);
  }

 private:
  double gamma_;
};

// One of a few, by their weights, in their order (YCSB's DiscreteGenerator).
template <size_t kCount>
class WeightedChoice {
 public:
  // REQUIRES: no weight is negative, and one at least is positive.
  explicit WeightedChoice(const std::array<double, kCount>& weights) {
    double sum = 0;
    for (size_t i = 0; i < kCount; ++i) upto_[i] = sum += weights[i];
    // The last one with a weight ends at exactly 1, which no draw reaches.
    for (double& upto : upto_) upto /= sum;
  }

  // Without branches: nobody could predict them.
  size_t Next(Random& random) const {
    const double u = random.Unit();
    size_t choice = 0;
    for (const double upto : upto_) choice += u >= upto ? 1 : 0;
    return choice;
  }

 private:
  std::array<double, kCount> upto_{};  // the shares of all up to this one
};

}  // namespace dunlin::kvbench
