#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace dunlin::kvctl {

// The priorities with priority flow control, a bit each, as the driver answers DCB_CMD_IEEE_GET.
// Needs no privilege. Errors: Unavailable (a kernel or a driver without DCB).
absl::StatusOr<uint8_t> QueryPfc(const std::string& netdev);

}  // namespace dunlin::kvctl
