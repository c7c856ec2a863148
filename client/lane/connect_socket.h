#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/base/unique_fd.h"

namespace dunlin {

// Connects to the Unix stream socket at `path`. Errors: InvalidArgument (path empty or too long),
// Unavailable (nobody listens there), PermissionDenied, DeadlineExceeded (the server doesn't
// accept).
absl::StatusOr<UniqueFd> ConnectSocket(const std::string& path, Deadline deadline);

}  // namespace dunlin
