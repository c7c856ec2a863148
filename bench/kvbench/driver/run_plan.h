#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/kvbench/measure/points.h"
#include "bench/kvbench/properties.h"
#include "bench/kvbench/workload/workload.h"

namespace dunlin::kvbench {

// How a phase is carried out.
struct RunPlan {
  Phase phase = Phase::kRun;
  uint32_t threads = 1;
  uint64_t operations = 0;      // of all threads; 0: no end
  size_t batch = 1;             // operations in one call of the store
  double target = 0;            // operations a second, of all threads; 0: as fast as it goes
  double max_seconds = 0;       // 0: no limit
  bool spin = false;            // never sleep until an operation's time
  uint32_t apart = 0;           // return codes whose failures' latencies are kept apart, a bit each
  double interval_seconds = 1;  // of the time line
  Keep keep = Keep::kNone;      // what of single operations; not read from properties
};

// InvalidArgument says which property, what was found and what is expected.
absl::StatusOr<RunPlan> ReadPlan(const Properties& properties, const WorkloadConfig& workload,
                                 Phase phase);

}  // namespace dunlin::kvbench
