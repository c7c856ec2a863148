#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace dunlin::kvbench {

// What a step of the search found.
struct SloStep {
  double asked_rate = 0;  // operations a second; 0: as fast as it goes
  double achieved_rate = 0;
  uint64_t operations = 0;
  uint64_t above_limit = 0;  // of them, later than the limit or failed
  double nanos = 0;          // the percentile, of the kind of operation that was worst
  uint32_t intervals = 0, intervals_met = 0;  // of the time line
  bool met = false;
};

struct SloResult {
  bool found = false;
  SloStep confirmed;         // the last step, at the highest rate that met the goal
  double lowest_missed = 0;  // rate
  uint32_t steps = 0;
};

// Looks for the highest rate that meets the goal: first as fast as it goes, which no schedule can
// keep up with, then by halves until the rate is known to the share `precision`; then once more for
// longer, at less if need be. `step(rate, confirm)` carries one out. At most some 40 steps.
absl::StatusOr<SloResult> SearchRate(
    double precision, const std::function<absl::StatusOr<SloStep>(double, bool)>& step);

// The upper end of the 95 % confidence interval (Wilson) for a share of which `hits` of `of` were
// seen.
double UpperShare(uint64_t hits, uint64_t of);

}  // namespace dunlin::kvbench
