#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "bench/kvbench/driver/overhead.h"
#include "bench/kvbench/driver/runner.h"
#include "bench/kvbench/output/exporter.h"
#include "bench/kvbench/output/output_options.h"

namespace dunlin::kvbench {

// Writes down what a phase did, as YCSB does, and behind it what YCSB doesn't know: [DRIVER],
// [CLIENT], [SERVER], [FABRIC].
void WriteRun(const RunOutcome& outcome, const OutputOptions& options,
              const std::optional<Overhead>& overhead, Exporter& exporter);

// The lines of every operation, where the measurement type is to have them: before the report, on
// standard output or behind what the file has. An error names the file.
absl::Status WriteRaw(const RunOutcome& outcome, const OutputOptions& options);

// "50th", "1st", "99.9": a percentile as YCSB names it.
std::string PercentileName(double percent);

// The name of a metric's intended latency beside that of its calls.
std::string IntendedName(const std::string& metric);

}  // namespace dunlin::kvbench
