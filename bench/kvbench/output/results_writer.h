#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/kvbench/driver/overhead.h"
#include "bench/kvbench/driver/run_plan.h"
#include "bench/kvbench/driver/runner.h"
#include "bench/kvbench/properties.h"
#include "bench/kvbench/results.pb.h"

namespace dunlin::kvbench {

// Keeps the time line for the results.
class TimeLine final : public RunObserver {
 public:
  void OnInterval(const IntervalView& interval) override;
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  std::vector<Interval> intervals_;
};

// What else belongs into the results of a phase.
struct ResultsInput {
  const Properties& properties;
  const RunPlan& plan;
  std::string binding;        // its name
  std::string store;          // what it says of itself
  std::string workload_file;  // the last -P; empty: none
  std::vector<double> percentiles;
  const std::optional<Overhead>& overhead;
  // What the store took before this process loaded it; unset: it didn't, or it isn't known.
  std::optional<double> memory_before_load = std::nullopt;
  double records_loaded = 0;
  double record_bytes = 0;  // what a record takes, where another process found it out; 0: unknown
  std::vector<std::string> remarks;
};

Results MakeResults(const RunOutcome& outcome, const TimeLine& time_line,
                    const ResultsInput& input);

// As JSON. An error names the file.
absl::Status WriteResultsFile(const Results& results, const std::string& path);

}  // namespace dunlin::kvbench
