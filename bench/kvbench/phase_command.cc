#include "bench/kvbench/phase_command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/kvbench/driver/overhead.h"
#include "bench/kvbench/driver/runner.h"
#include "bench/kvbench/output/exporter.h"
#include "bench/kvbench/output/hdr_log.h"
#include "bench/kvbench/output/output_options.h"
#include "bench/kvbench/output/report.h"
#include "bench/kvbench/output/results_writer.h"
#include "bench/kvbench/output/status_line.h"
#include "common/base/status.h"
#include "common/base/write_file.h"

namespace dunlin::kvbench {
namespace {

// Everything that the properties say, checked before anything is done.
struct Setup {
  WorkloadConfig config;
  RunPlan plan;
  OutputOptions output;
  std::unique_ptr<Exporter> exporter;
  bool load_first = false;
  double record_bytes = 0;
  bool overhead = true;
};

absl::StatusOr<Setup> ReadSetup(const CommandLine& line) {
  Setup setup;
  const Phase phase = line.verb == CommandLine::Verb::kLoad ? Phase::kLoad : Phase::kRun;
  const Properties& properties = line.properties;
  DUNLIN_ASSIGN_OR_RETURN(setup.config, ReadWorkload(properties));
  DUNLIN_ASSIGN_OR_RETURN(setup.plan, ReadPlan(properties, setup.config, phase));
  DUNLIN_ASSIGN_OR_RETURN(setup.output, ReadOutputOptions(properties, setup.plan));
  setup.plan.keep = setup.output.keep();
  DUNLIN_ASSIGN_OR_RETURN(setup.exporter, MakeExporter(setup.output.exporter));
  DUNLIN_ASSIGN_OR_RETURN(setup.load_first, properties.GetBool("kvbench.load", false));
  DUNLIN_ASSIGN_OR_RETURN(setup.overhead, properties.GetBool("kvbench.overhead", true));
  DUNLIN_ASSIGN_OR_RETURN(setup.record_bytes, properties.GetDouble("kvbench.recordbytes", 0));
  return setup;
}

absl::Status Export(const std::string& text, const std::string& path) {
  int error = 0;
  if (!path.empty()) {
    error = WriteWholeFile(path, text);
  } else if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0) {
    error = errno;
  }
  if (error == 0) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    (path.empty() ? "standard output" : path) + ": " + strerror(error));
}

// Not those that a store has a right to answer: not found, not implemented.
uint64_t Failures(const RunOutcome& outcome) {
  return outcome.metrics.CountOf(static_cast<size_t>(Return::kError)) +
         outcome.metrics.CountOf(static_cast<size_t>(Return::kUnknown)) +
         outcome.metrics.CountOf(kUnexpectedState);
}

std::vector<std::string> Remarks(const Setup& setup, const RunOutcome& outcome,
                                 const Properties& properties) {
  std::vector<std::string> remarks;
  const std::string given = properties.Get("kvbench.remark", "");
  if (!given.empty()) remarks.push_back(given);
  if (setup.config.has(Action::kScan) && setup.plan.phase == Phase::kRun) {
    remarks.push_back("scans are not implemented");
  }
  if (outcome.interrupted) remarks.push_back("interrupted");
  const uint64_t failures = Failures(outcome);
  if (failures > 0) remarks.push_back(std::to_string(failures) + " operations failed");
  const uint64_t left_out = outcome.metrics.points_left_out();
  if (left_out > 0) {
    remarks.push_back("the raw lines of " + std::to_string(left_out) +
                      " operations were left out: there were too many");
  }
  for (const std::string& trouble : outcome.troubles) remarks.push_back(trouble);
  return remarks;
}

// "redis" of YCSB's class name "site.ycsb.db.RedisClient".
std::string PlainName(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  name.remove_prefix(dot + 1);
  constexpr std::string_view kSuffix = "Client";
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  std::string plain(name);
  for (char& c : plain) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
  return plain;
}

class PhaseRun {
 public:
  PhaseRun(const CommandLine& line, Setup setup, Interrupts& interrupts)
      : line_(line), setup_(std::move(setup)), interrupts_(interrupts) {}

  absl::StatusOr<ExitStatus> Go();

 private:
  MetricSet Empty() const { return MetricSet(setup_.plan.target > 0, setup_.plan.apart); }
  absl::Status MeasureDriver();
  absl::StatusOr<RunOutcome> Measure(Binding& binding);
  absl::Status Tell(const RunOutcome& outcome, const Binding& binding);
  ExitStatus Judge(const RunOutcome& outcome) const;

  const CommandLine& line_;
  Setup setup_;
  Interrupts& interrupts_;
  const TickClock clock_;
  std::optional<Overhead> overhead_;
  TimeLine time_line_;
  std::optional<double> memory_before_load_;
};

// Before and after the run, as the machine's pace may have changed meanwhile: their mean.
absl::Status PhaseRun::MeasureDriver() {
  if (!setup_.overhead) return absl::OkStatus();
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<Binding> nothing,
                          MakeBinding("null", line_.properties));
  DUNLIN_ASSIGN_OR_RETURN(const Overhead now,
                          MeasureOverhead(*nothing, setup_.config, setup_.plan, clock_));
  if (overhead_) {
    overhead_->nanos = (overhead_->nanos + now.nanos) / 2;
    overhead_->empty_nanos = (overhead_->empty_nanos + now.empty_nanos) / 2;
  } else {
    overhead_ = now;
  }
  return absl::OkStatus();
}

absl::StatusOr<RunOutcome> PhaseRun::Measure(Binding& binding) {
  const OutputOptions& output = setup_.output;
  const RunPlan& plan = setup_.plan;
  StatusLine status({.label = output.label,
                     .seconds = output.status_seconds,
                     .terminal = isatty(STDERR_FILENO) == 1,
                     .operations = plan.operations,
                     .max_seconds = plan.max_seconds},
                    Empty());
  HdrLog hdr_log(output.hdr_path, output.status_seconds,
                 output.latency != OutputOptions::Latency::kCall, Empty());
  RunContext context{.binding = binding, .clock = clock_, .interrupts = &interrupts_};
  context.observers.push_back(&time_line_);
  if (output.status) context.observers.push_back(&status);
  if (output.hdr_files) context.observers.push_back(&hdr_log);
  Workload workload(setup_.config, plan.phase);
  absl::StatusOr<RunOutcome> outcome = RunPhase(context, workload, plan);
  status.Finish();
  DUNLIN_RETURN_IF_ERROR(hdr_log.Finish());
  return outcome;
}

absl::Status PhaseRun::Tell(const RunOutcome& outcome, const Binding& binding) {
  DUNLIN_RETURN_IF_ERROR(WriteRaw(outcome, setup_.output));
  WriteRun(outcome, setup_.output, overhead_, *setup_.exporter);
  DUNLIN_RETURN_IF_ERROR(Export(setup_.exporter->Finish(), setup_.output.export_file));
  const std::string path = line_.properties.Get("kvbench.results", "");
  if (path.empty()) return absl::OkStatus();
  const bool loaded = setup_.plan.phase == Phase::kLoad;
  const ResultsInput input{
      .properties = line_.properties,
      .plan = setup_.plan,
      .binding = line_.binding,
      .store = binding.Describe(),
      .workload_file = line_.workload_file,
      .percentiles = setup_.output.percentiles,
      .overhead = overhead_,
      .memory_before_load = memory_before_load_,
      .records_loaded = static_cast<double>(loaded ? static_cast<int64_t>(outcome.operations)
                                                   : setup_.config.load_count),
      .record_bytes = setup_.record_bytes,
      .remarks = Remarks(setup_, outcome, line_.properties)};
  return WriteResultsFile(MakeResults(outcome, time_line_, input), path);
}

ExitStatus PhaseRun::Judge(const RunOutcome& outcome) const {
  for (const std::string& trouble : outcome.troubles) {
    std::fprintf(stderr, "kvbench: %s\n", trouble.c_str());
  }
  const uint64_t left_out = outcome.metrics.points_left_out();
  if (left_out > 0) {
    std::fprintf(stderr,
                 "kvbench: the raw lines of %llu operations were left out: at most %zu of a "
                 "metric are kept\n",
                 static_cast<unsigned long long>(left_out), Points::kMost);
  }
  if (outcome.interrupted) return ExitStatus::kInterrupted;
  const uint64_t failures = Failures(outcome);
  const bool ended_early = setup_.plan.max_seconds == 0 && setup_.plan.operations > 0 &&
                           outcome.operations < setup_.plan.operations;
  if (failures == 0 && !ended_early) return ExitStatus::kDone;
  std::fprintf(stderr, "kvbench: %llu operations failed%s\n",
               static_cast<unsigned long long>(failures),
               ended_early ? ", and the phase ended early" : "");
  return ExitStatus::kFailures;
}

absl::StatusOr<ExitStatus> PhaseRun::Go() {
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<Binding> binding,
                          MakeBinding(line_.binding, line_.properties));
  if (setup_.plan.phase == Phase::kLoad) {
    const ServerUse use = binding->Use();
    if (use.known) memory_before_load_ = static_cast<double>(use.memory_bytes);
  } else if (setup_.load_first) {
    DUNLIN_ASSIGN_OR_RETURN(const Loaded loaded, LoadFirst(*binding, setup_.config,
                                                           line_.properties, clock_, interrupts_));
    if (loaded.interrupted) return ExitStatus::kInterrupted;
    memory_before_load_ = loaded.memory_before;
  }
  DUNLIN_RETURN_IF_ERROR(MeasureDriver());
  std::fprintf(stderr, "%s: %u threads, %s\n",
               setup_.plan.phase == Phase::kLoad ? "Loading" : "Running", setup_.plan.threads,
               binding->Describe().c_str());
  DUNLIN_ASSIGN_OR_RETURN(const RunOutcome outcome, Measure(*binding));
  DUNLIN_RETURN_IF_ERROR(MeasureDriver());
  DUNLIN_RETURN_IF_ERROR(Tell(outcome, *binding));
  return Judge(outcome);
}

}  // namespace

ExitStatus Complain(const absl::Status& status) {
  std::fprintf(stderr, "kvbench: %s\n", std::string(FromAbsl(status.message())).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? ExitStatus::kUsage
                                                             : ExitStatus::kCannot;
}

absl::StatusOr<std::unique_ptr<Binding>> MakeBinding(const std::string& name,
                                                     const Properties& properties) {
  std::string names;
  const std::string plain = PlainName(name);
  for (const BindingFactory& factory : Bindings()) {
    if (factory.name == name || factory.name == plain) return factory.make(properties);
    names += (names.empty() ? "" : ", ") + factory.name;
  }
  std::string message = "there is no binding \"" + name + "\"; this kvbench was built with " +
                        names + " (others need their libraries when it is built)";
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

absl::StatusOr<Loaded> LoadFirst(Binding& binding, const WorkloadConfig& config,
                                 const Properties& properties, const TickClock& clock,
                                 Interrupts& interrupts) {
  DUNLIN_ASSIGN_OR_RETURN(RunPlan plan, ReadPlan(properties, config, Phase::kLoad));
  plan.target = plan.max_seconds = 0;
  const ServerUse use = binding.Use();
  std::fprintf(stderr, "Loading %llu records, %s\n",
               static_cast<unsigned long long>(plan.operations), binding.Describe().c_str());
  Workload workload(config, Phase::kLoad);
  DUNLIN_ASSIGN_OR_RETURN(
      const RunOutcome outcome,
      RunPhase({.binding = binding, .clock = clock, .interrupts = &interrupts}, workload, plan));
  Loaded loaded{.interrupted = outcome.interrupted};
  if (use.known) loaded.memory_before = static_cast<double>(use.memory_bytes);
  const uint64_t inserted = outcome.metrics.returns(MetricId::kInsert)[0];
  if (inserted == plan.operations || loaded.interrupted) return loaded;
  std::string message = "only " + std::to_string(inserted) + " of " +
                        std::to_string(plan.operations) + " records could be loaded";
  for (const std::string& trouble : outcome.troubles) message += "; " + trouble;
  return MakeStatus(absl::StatusCode::kUnavailable, message);
}

ExitStatus RunPhaseCommand(const CommandLine& line) {
  absl::StatusOr<Setup> setup = ReadSetup(line);
  if (!setup.ok()) return Complain(setup.status());
  // Before any thread is started, as each inherits what is blocked.
  absl::StatusOr<Interrupts> interrupts = Interrupts::Make();
  if (!interrupts.ok()) return Complain(interrupts.status());
  const absl::StatusOr<ExitStatus> exit = PhaseRun(line, *std::move(setup), *interrupts).Go();
  return exit.ok() ? *exit : Complain(exit.status());
}

}  // namespace dunlin::kvbench
