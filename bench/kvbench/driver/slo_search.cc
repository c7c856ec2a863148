#include "bench/kvbench/driver/slo_search.h"

#include <cmath>

#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr uint32_t kMaxBisections = 24;
constexpr uint32_t kMaxConfirmations = 8;
// Below this share of the capacity there is no rate worth looking for.
constexpr double kLeastShare = 1e-4;

}  // namespace

absl::StatusOr<SloResult> SearchRate(
    double precision, const std::function<absl::StatusOr<SloStep>(double, bool)>& step) {
  SloResult result;
  DUNLIN_ASSIGN_OR_RETURN(const SloStep capacity, step(0, false));
  result.steps = 1;
  double met = 0;
  result.lowest_missed = capacity.achieved_rate;
  const double least = capacity.achieved_rate * kLeastShare;
  for (uint32_t i = 0; i < kMaxBisections; ++i) {
    const double missed = result.lowest_missed;
    if (missed <= least || missed - met <= precision * missed) break;
    const double rate = (met + missed) / 2;
    DUNLIN_ASSIGN_OR_RETURN(const SloStep next, step(rate, false));
    ++result.steps;
    (next.met ? met : result.lowest_missed) = rate;
  }
  for (uint32_t i = 0; i < kMaxConfirmations && met > 0; ++i) {
    DUNLIN_ASSIGN_OR_RETURN(result.confirmed, step(met, true));
    ++result.steps;
    if (result.confirmed.met) {
      result.found = true;
      break;
    }
    // What a short step found was luck.
    result.lowest_missed = met;
    met *= 1 - precision;
  }
  return result;
}

double UpperShare(uint64_t hits, uint64_t of) {
  if (of == 0) return 1;
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(of);
  const double share = static_cast<double>(hits) / n;
  const double middle = share + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  return std::fmin(1, (middle + half) / (1 + kZ * kZ / n));
}

}  // namespace dunlin::kvbench
