#pragma once

#include <cmath>
#include <cstdint>

#include "bench/kvbench/generators/fnv_hash.h"
#include "common/base/random.h"

namespace dunlin::kvbench {

// The sum of 1/i^theta for i = first + 1 ... last, added in that order to `sum`. A pow() for each.
double ExtendZeta(double sum, uint64_t first, uint64_t last, double theta);

// YCSB's ZipfianGenerator (Gray et al., "Quickly generating billion-record synthetic databases",
// SIGMOD 1994): 0 is the most popular item, then 1, ... Not thread safe: one a thread, which may be
// copied from one that has paid for the sum.
class Zipfian {
 public:
  static constexpr double kTheta = 0.99;

  // Of `items` numbers from 0. REQUIRES: items > 0, 0 < theta < 1. Costs a pow() for each item.
  explicit Zipfian(uint64_t items, double theta = kTheta);
  // The same with the sum known already.
  Zipfian(uint64_t items, double theta, double zeta);

  uint64_t Next(Random& random) { return At(random.Unit()); }

  // Of `items` numbers. More than before cost a pow() for each new one. With fewer the sum stays
  // that of the most there were, as in YCSB.
  uint64_t NextOf(uint64_t items, Random& random) {
    if (items > summed_) Grow(items);
    return AtOf(items, random.Unit());
  }

  // What comes out for a random number `u` in [0, 1).
  uint64_t At(double u) const { return AtOf(items_, u); }

  double zeta() const { return zeta_; }

 private:
  uint64_t AtOf(uint64_t items, double u) const {
    const double uz = u * zeta_;
    if (uz < 1) return 0;
    if (uz < second_) return 1;
    return static_cast<uint64_t>(static_cast<double>(items) * Power(eta_ * u - eta_ + 1));
  }
  // For YCSB's theta the exponent is 100 but for a rounding error, which moves one item in
  // thousands of millions to its neighbour; pow() costs four times as much.
  double Power(double x) const {
    if (!hundred_) return std::pow(x, alpha_);
    const double x2 = x * x, x4 = x2 * x2, x8 = x4 * x4, x16 = x8 * x8, x32 = x16 * x16;
    return x32 * x32 * (x32 * x4);
  }
  void Grow(uint64_t items);
  void ComputeEta();

  uint64_t items_;
  double theta_;
  double alpha_;
  bool hundred_;   // alpha_ is 100
  double second_;  // 1 + 0.5^theta
  double zeta2_;
  uint64_t summed_;  // zeta_ is of so many items
  double zeta_;
  double eta_ = 0;
};

// YCSB's ScrambledZipfianGenerator: popularity as of ten billion items, scattered by a hash over
// the numbers from `low` to `high`, inclusive. Thread safe: it has no state.
class ScrambledZipfian {
 public:
  // REQUIRES: low <= high.
  ScrambledZipfian(int64_t low, int64_t high);

  int64_t Next(Random& random) const { return At(random.Unit()); }
  int64_t At(double u) const { return Scatter(inner_.At(u)); }
  const Zipfian& inner() const { return inner_; }

 private:
  int64_t Scatter(uint64_t item) const {
    const auto hash = static_cast<uint64_t>(FnvHash64(static_cast<int64_t>(item)));
    // hash % count_: the quotient is this one or one more, as reciprocal_ is rounded down.
    __extension__ using Wide = unsigned __int128;
    const auto quotient = static_cast<uint64_t>(Wide{hash} * reciprocal_ >> 64);
    const uint64_t rest = hash - quotient * count_;
    return low_ + static_cast<int64_t>(rest < count_ ? rest : rest - count_);
  }

  int64_t low_;
  uint64_t count_;
  uint64_t reciprocal_;  // 2^64 / count_, rounded down
  Zipfian inner_;
};

}  // namespace dunlin::kvbench
