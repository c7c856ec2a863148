#pragma once

#include "absl/status/status.h"

namespace dunlin::kvbench {

// What kvbench ends with; see its help.
enum class ExitStatus : int {
  kDone = 0,
  kCannot = 1,
  kUsage = 2,
  kFailures = 3,
  kInterrupted = 130,
};

// Prints the message, and says what it means.
ExitStatus Complain(const absl::Status& status);

}  // namespace dunlin::kvbench
