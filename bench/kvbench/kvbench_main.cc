#include <signal.h>

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "bench/kvbench/command_line.h"
#include "bench/kvbench/exit_status.h"
#include "bench/kvbench/phase_command.h"
#include "bench/kvbench/report/report.h"
#include "bench/kvbench/report/results_file.h"
#include "bench/kvbench/slo_command.h"

namespace dunlin::kvbench {
namespace {

ExitStatus Report(const CommandLine& line) {
  std::vector<Results> runs;
  for (const std::string& file : line.files) {
    absl::StatusOr<Results> results = ReadResults(file);
    if (!results.ok()) return Complain(results.status());
    runs.push_back(*std::move(results));
  }
  ReportOptions options;
  if (!line.title.empty()) options.title = line.title;
  options.baseline = line.baseline;
  const absl::Status status = WriteReport(runs, line.output, options);
  return status.ok() ? ExitStatus::kDone : Complain(status);
}

ExitStatus ListBindings() {
  for (const BindingFactory& factory : Bindings()) {
    std::printf("%-12s  %s\n", factory.name.c_str(), factory.summary.c_str());
  }
  return ExitStatus::kDone;
}

ExitStatus Run(const CommandLine& line) {
  switch (line.verb) {
    case CommandLine::Verb::kLoad:
    case CommandLine::Verb::kRun:
      return RunPhaseCommand(line);
    case CommandLine::Verb::kSlo:
      return RunSloCommand(line);
    case CommandLine::Verb::kReport:
      return Report(line);
    case CommandLine::Verb::kBindings:
      return ListBindings();
    case CommandLine::Verb::kVersion:
      std::puts("kvbench " DUNLIN_RELEASE);
      return ExitStatus::kDone;
    case CommandLine::Verb::kHelp:
      break;
  }
  std::fputs(std::string(HelpText()).c_str(), stdout);
  return ExitStatus::kDone;
}

}  // namespace
}  // namespace dunlin::kvbench

int main(int argc, char** argv) {
  using dunlin::kvbench::ExitStatus;
  // A store's connection that was closed is an error of the call, not the end of this process.
  signal(SIGPIPE, SIG_IGN);
  const auto line =
      dunlin::kvbench::ParseCommandLine(std::span<const char* const>(argv, argc).subspan(1));
  const ExitStatus status =
      line.ok() ? dunlin::kvbench::Run(*line) : dunlin::kvbench::Complain(line.status());
  return static_cast<int>(status);
}
