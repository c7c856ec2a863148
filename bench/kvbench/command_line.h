#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/kvbench/properties.h"

namespace dunlin::kvbench {

// What `kvbench slo` is to find.
struct SloGoal {
  double percentile = 99;
  int64_t limit_nanos = 0;
  double step_seconds = 3;
  double confirm_seconds = 10;
  double precision = 0.05;  // of the rate: how close the search comes
};

struct CommandLine {
  enum class Verb { kLoad, kRun, kSlo, kReport, kBindings, kHelp, kVersion };

  Verb verb = Verb::kHelp;
  std::string binding;        // -db, or behind the verb
  Properties properties;      // of all -P, then all -p and YCSB's other options
  std::string workload_file;  // the last -P; empty: none
  SloGoal slo;
  // Of `report`.
  std::vector<std::string> files;
  std::string output;
  std::string title, baseline;
};

// `arguments` are those behind the program's name: a verb and what belongs to it, or YCSB's own
// form without one. InvalidArgument says what was not understood; errors of files name them.
absl::StatusOr<CommandLine> ParseCommandLine(std::span<const char* const> arguments);

// For --help.
std::string_view HelpText();

}  // namespace dunlin::kvbench
