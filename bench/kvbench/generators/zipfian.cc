#include "bench/kvbench/generators/zipfian.h"

#include "common/base/check.h"

namespace dunlin::kvbench {
namespace {

constexpr uint64_t kScrambledItems = 10'000'000'001;
// ExtendZeta(0, 0, kScrambledItems, 0.99), as YCSB has it.
constexpr double kScrambledZeta = 26.46902820178302;

__extension__ using Wide = unsigned __int128;
constexpr Wide kTwoTo64 = Wide{1} << 64;

}  // namespace

double ExtendZeta(double sum, uint64_t first, uint64_t last, double theta) {
  for (uint64_t i = first; i < last; ++i) sum += 1 / std::pow(static_cast<double>(i + 1), theta);
  return sum;
}

Zipfian::Zipfian(uint64_t items, double theta)
    : Zipfian(items, theta, ExtendZeta(0, 0, items, theta)) {}

Zipfian::Zipfian(uint64_t items, double theta, double zeta)
    : items_(items),
      theta_(theta),
      alpha_(1 / (1 - theta)),
      hundred_(std::fabs(alpha_ - 100) < 1e-9),
      second_(1 + std::pow(0.5, theta)),
      zeta2_(ExtendZeta(0, 0, 2, theta)),
      summed_(items),
      zeta_(zeta) {
  DUNLIN_CHECK(items > 0 && theta > 0 && theta < 1);
  ComputeEta();
}

// YCSB keeps the number of items it began with here, whatever comes in addition.
void Zipfian::ComputeEta() {
  eta_ = (1 - std::pow(2 / static_cast<double>(items_), 1 - theta_)) / (1 - zeta2_ / zeta_);
}

void Zipfian::Grow(uint64_t items) {
  zeta_ = ExtendZeta(zeta_, summed_, items, theta_);
  summed_ = items;
  ComputeEta();
}

ScrambledZipfian::ScrambledZipfian(int64_t low, int64_t high)
    : low_(low),
      count_(static_cast<uint64_t>(high - low) + 1),
      reciprocal_(count_ == 1 ? ~uint64_t{0} : static_cast<uint64_t>(kTwoTo64 / count_)),
      inner_(kScrambledItems, Zipfian::kTheta, kScrambledZeta) {
  DUNLIN_CHECK(low <= high);
}

}  // namespace dunlin::kvbench
