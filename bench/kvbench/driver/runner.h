#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/kvbench/binding.h"
#include "bench/kvbench/driver/interrupts.h"
#include "bench/kvbench/driver/run_plan.h"
#include "bench/kvbench/measure/metric_set.h"
#include "bench/kvbench/measure/tick_clock.h"
#include "bench/kvbench/workload/workload.h"

namespace dunlin::kvbench {

// A piece of the time line.
struct IntervalView {
  double end_seconds = 0;  // since the start
  double seconds = 0;
  uint64_t operations = 0;  // within it
  uint64_t operations_so_far = 0;
  const MetricSet& metrics;
};

// Told of every interval, by the thread that runs the phase.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void OnInterval(const IntervalView& interval) = 0;
};

struct RunOutcome {
  explicit RunOutcome(MetricSet empty) : metrics(std::move(empty)) {}

  MetricSet metrics;
  int64_t started_unix_nanos = 0;
  double seconds = 0;
  uint64_t operations = 0;
  FabricCounts fabric;            // of all sessions
  uint64_t client_cpu_nanos = 0;  // this process's, user and system
  ServerUse before, after;
  bool interrupted = false;
  std::vector<std::string> troubles;  // why threads ended early, and their stores' last errors
};

// What a phase takes beside its plan. All of it outlives the call.
struct RunContext {
  Binding& binding;
  const TickClock& clock;
  Interrupts* interrupts = nullptr;  // may be null
  std::vector<RunObserver*> observers = {};
};

// Opens a session a thread, runs the phase and closes them. An error: a session could not be
// opened.
absl::StatusOr<RunOutcome> RunPhase(const RunContext& context, Workload& workload,
                                    const RunPlan& plan);

}  // namespace dunlin::kvbench
