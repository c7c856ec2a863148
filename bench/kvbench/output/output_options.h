#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/kvbench/driver/run_plan.h"
#include "bench/kvbench/measure/points.h"
#include "bench/kvbench/properties.h"

namespace dunlin::kvbench {

// What is to be told of a phase, and in which form: YCSB's properties, and ours.
struct OutputOptions {
  enum class Latency { kCall, kIntended, kBoth };

  Latency latency = Latency::kCall;
  bool hdr_histogram = true;     // measurementtype
  bool plain_histogram = false;  // in buckets of a millisecond
  bool raw = false;              // every single operation
  bool series = false;           // means over time
  std::vector<double> percentiles;
  std::vector<double> series_percentiles;
  int64_t series_millis = 1000;
  std::string raw_file;  // is appended to; empty: standard output
  bool raw_summary = true;
  bool verbose = false;
  size_t buckets = 1000;  // of the plain histogram
  bool nanoseconds = true;
  std::string exporter;
  std::string export_file;  // empty: standard output

  bool hdr_files = false;
  std::string hdr_path;  // goes before the files' names

  bool status = false;
  double status_seconds = 10;
  std::string label;

  // What the driver has to keep for it.
  Keep keep() const { return raw ? Keep::kAll : series ? Keep::kMilliseconds : Keep::kNone; }
};

// InvalidArgument says which property, what was found and what is expected.
absl::StatusOr<OutputOptions> ReadOutputOptions(const Properties& properties, const RunPlan& plan);

}  // namespace dunlin::kvbench
