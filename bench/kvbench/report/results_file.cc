#include "bench/kvbench/report/results_file.h"

#include <google/protobuf/util/json_util.h>

#include <cstddef>

#include "common/base/read_file.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr size_t kLongestFile = size_t{256} << 20;
constexpr uint32_t kFormat = 1;

absl::Status Invalid(const std::string& name, const std::string& what) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, name + ": " + what);
}

}  // namespace

absl::StatusOr<Results> ParseResults(const std::string& json, const std::string& name) {
  Results results;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &results, options);
  if (!parsed.ok()) {
    return Invalid(name, "expected the JSON that kvbench writes with -p kvbench.results=FILE: " +
                             parsed.ToString());
  }
  if (results.format() != kFormat) {
    return Invalid(name, results.format() == 0
                             ? "no \"format\": not a result of kvbench"
                             : "of format " + std::to_string(results.format()) +
                                   ", this release reads 1: use the kvbench that wrote it");
  }
  return results;
}

absl::StatusOr<Results> ReadResults(const std::string& path) {
  DUNLIN_ASSIGN_OR_RETURN(const std::string json, ReadWholeFile(path, kLongestFile));
  return ParseResults(json, path);
}

}  // namespace dunlin::kvbench
