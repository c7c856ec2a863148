#pragma once

#include <cstdint>

#include "client/kvctl/context.h"
#include "client/kvctl/output/progress.h"

namespace dunlin::kvctl {

struct WorkloadArguments {
  uint64_t keys = 100'000;
  uint32_t value_bytes = 100;
  uint32_t reads = 95;  // percent; the rest are puts
  Milliseconds time{5000};
  ProgressMode progress = ProgressMode::kAuto;
};

// Tries the server out: puts `keys` keys of its own, then reads and writes them at random, one
// operation at a time, for `time`; tells rates and latencies, and removes the keys. Other keys are
// not touched. Needs Context::session.
ExitCode RunWorkload(Context& context, const WorkloadArguments& arguments);

}  // namespace dunlin::kvctl
