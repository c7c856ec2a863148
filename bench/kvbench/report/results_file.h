#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bench/kvbench/results.pb.h"

namespace dunlin::kvbench {

// What a run left behind (-p kvbench.results=FILE). Errors name the file and what is wrong with it:
// NotFound and the like from reading, InvalidArgument for what isn't JSON of Results or is of a
// format that this release doesn't know.
absl::StatusOr<Results> ReadResults(const std::string& path);

// The same of text; `name` is for messages.
absl::StatusOr<Results> ParseResults(const std::string& json, const std::string& name);

}  // namespace dunlin::kvbench
