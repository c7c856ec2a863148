#pragma once

#include "bench/kvbench/command_line.h"
#include "bench/kvbench/exit_status.h"

namespace dunlin::kvbench {

// `kvbench slo`: the highest rate at which the store keeps a latency.
ExitStatus RunSloCommand(const CommandLine& line);

}  // namespace dunlin::kvbench
