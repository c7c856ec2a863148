#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/kvbench/results.pb.h"

namespace dunlin::kvbench {

struct ReportOptions {
  std::string title = "kvbench";
  // The label of the runs to which the others are compared at first; empty or not among them: the
  // slowest. Readers can choose another on the page.
  std::string baseline = {};
};

// One HTML page of all the runs that needs nothing but itself: no network, no other file. It is
// some 100 KB and, by thinning distributions and time lines of many runs, at most about 20 MB.
// Whatever text the runs contain is shown as text. Errors: InvalidArgument if there are no runs, or
// more than 2,000.
absl::StatusOr<std::string> RenderReport(std::span<const Results> runs,
                                         const ReportOptions& options);

// The same into a file, which is replaced when the whole is written; devices and pipes are written
// as they are. An error names the file.
absl::Status WriteReport(std::span<const Results> runs, const std::string& path,
                         const ReportOptions& options);

}  // namespace dunlin::kvbench
