#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace dunlin {

// The contents of a file, a pipe or a device. Refuses more than `limit` bytes (OutOfRange); an
// error names the path and the reason.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t limit);

}  // namespace dunlin
