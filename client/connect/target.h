#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dunlin {

// The path of the server's Unix socket in a target "shm://PATH". InvalidArgument says what was
// found instead.
absl::StatusOr<std::string> SocketPathOf(std::string_view target);

}  // namespace dunlin
