#pragma once

#include "absl/status/statusor.h"
#include "bench/kvbench/binding.h"
#include "bench/kvbench/driver/run_plan.h"
#include "bench/kvbench/measure/tick_clock.h"
#include "bench/kvbench/workload/workload_config.h"

namespace dunlin::kvbench {

// What the driver itself costs: the workload's operations on a store that does nothing.
struct Overhead {
  double nanos = 0;  // CPU time of an operation, all included
  // The latency that is recorded for an operation that takes no time; the median.
  double empty_nanos = 0;
};

// Takes some 60 ms of this thread. `nothing` is such a store.
absl::StatusOr<Overhead> MeasureOverhead(Binding& nothing, const WorkloadConfig& config,
                                         const RunPlan& plan, const TickClock& clock);

}  // namespace dunlin::kvbench
