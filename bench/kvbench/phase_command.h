#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bench/kvbench/binding.h"
#include "bench/kvbench/command_line.h"
#include "bench/kvbench/driver/interrupts.h"
#include "bench/kvbench/driver/run_plan.h"
#include "bench/kvbench/exit_status.h"
#include "bench/kvbench/measure/tick_clock.h"
#include "bench/kvbench/workload/workload_config.h"

namespace dunlin::kvbench {

// InvalidArgument lists those that there are.
absl::StatusOr<std::unique_ptr<Binding>> MakeBinding(const std::string& name,
                                                     const Properties& properties);

// kvbench.load: inserts all records, unmeasured. What the store took before, where it tells.
struct Loaded {
  bool interrupted = false;
  std::optional<double> memory_before = std::nullopt;
};
absl::StatusOr<Loaded> LoadFirst(Binding& binding, const WorkloadConfig& config,
                                 const Properties& properties, const TickClock& clock,
                                 Interrupts& interrupts);

// `kvbench load` and `kvbench run`.
ExitStatus RunPhaseCommand(const CommandLine& line);

}  // namespace dunlin::kvbench
