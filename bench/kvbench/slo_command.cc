#include "bench/kvbench/slo_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "bench/kvbench/driver/runner.h"
#include "bench/kvbench/driver/slo_search.h"
#include "bench/kvbench/output/exporter.h"
#include "bench/kvbench/phase_command.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvbench {
namespace {

// What was intended, of every kind of operation that succeeded; the worst of them.
double WorstNanos(const MetricSet& metrics, double percentile) {
  uint64_t worst = 0;
  metrics.ForEach([&](const std::string&, MetricId id, bool, const MetricSet::Latency* latency) {
    if (latency == nullptr || id == MetricId::kCleanup || id == MetricId::kVerify) return;
    worst = std::max(worst, latency->intended().Percentile(percentile));
  });
  return static_cast<double>(worst);
}

uint64_t CountAbove(const MetricSet& metrics, int64_t limit) {
  uint64_t above = 0;
  metrics.ForEach(
      [&](const std::string&, MetricId id, bool success, const MetricSet::Latency* latency) {
        if (latency == nullptr || id == MetricId::kCleanup || id == MetricId::kVerify) return;
        latency->intended().ForEachStep([&](uint64_t highest, uint64_t count) {
          if (!success || highest > static_cast<uint64_t>(limit)) above += count;
        });
      });
  return above;
}

class IntervalJudge final : public RunObserver {
 public:
  explicit IntervalJudge(const SloGoal& goal) : goal_(goal) {}
  void OnInterval(const IntervalView& interval) override {
    if (interval.operations == 0) return;
    ++intervals_;
    const double worst = WorstNanos(interval.metrics, goal_.percentile);
    met_ += worst <= static_cast<double>(goal_.limit_nanos) ? 1 : 0;
  }
  uint32_t intervals() const { return intervals_; }
  uint32_t met() const { return met_; }

 private:
  const SloGoal& goal_;
  uint32_t intervals_ = 0, met_ = 0;
};

class Search {
 public:
  Search(const CommandLine& line, Binding& binding, WorkloadConfig config, RunPlan plan,
         const TickClock& clock, Interrupts& interrupts)
      : goal_(line.slo),
        binding_(binding),
        config_(std::move(config)),
        plan_(std::move(plan)),
        clock_(clock),
        interrupts_(interrupts) {
    plan_.operations = 0;
    plan_.interval_seconds = std::min(plan_.interval_seconds, goal_.step_seconds);
  }

  absl::StatusOr<SloStep> Step(double rate, bool confirm) {
    plan_.target = rate;
    plan_.max_seconds = confirm ? goal_.confirm_seconds : goal_.step_seconds;
    IntervalJudge judge(goal_);
    Workload workload(config_, Phase::kRun);
    DUNLIN_ASSIGN_OR_RETURN(const RunOutcome outcome, RunPhase({.binding = binding_,
                                                                .clock = clock_,
                                                                .interrupts = &interrupts_,
                                                                .observers = {&judge}},
                                                               workload, plan_));
    if (outcome.interrupted) return MakeStatus(absl::StatusCode::kCancelled, "interrupted");
    if (outcome.operations == 0 && rate == 0) {
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "not one operation came to its end; is -seconds too short?");
    }
    const SloStep step = Judged(rate, outcome, judge);
    Tell(step, confirm);
    return step;
  }

 private:
  SloStep Judged(double rate, const RunOutcome& outcome, const IntervalJudge& judge) const {
    SloStep step{.asked_rate = rate,
                 .achieved_rate = static_cast<double>(outcome.operations) / outcome.seconds,
                 .operations = outcome.operations,
                 .above_limit = CountAbove(outcome.metrics, goal_.limit_nanos),
                 .nanos = WorstNanos(outcome.metrics, goal_.percentile),
                 .intervals = judge.intervals(),
                 .intervals_met = judge.met()};
    const double allowed = (100 - goal_.percentile) / 100 * static_cast<double>(outcome.operations);
    // A schedule that was not kept would show in the latency, but only of what was begun. Each
    // thread may be short of what was due as it began and as it ended.
    const double due = rate * outcome.seconds - 2.0 * plan_.threads;
    step.met = outcome.operations > 0 && step.nanos <= static_cast<double>(goal_.limit_nanos) &&
               static_cast<double>(step.above_limit) <= allowed &&
               static_cast<double>(outcome.operations) >= 0.97 * due;
    return step;
  }

  static void Tell(const SloStep& step, bool confirm) {
    const std::string rate =
        step.asked_rate == 0 ? "as fast as it goes" : "at " + FormatRate(step.asked_rate);
    std::fprintf(stderr, "%s%s: %s, %s, %s\n", confirm ? "confirming " : "", rate.c_str(),
                 FormatRate(step.achieved_rate).c_str(), FormatRoundedDuration(step.nanos).c_str(),
                 step.asked_rate == 0 ? "the capacity" : (step.met ? "met" : "missed"));
  }

  const SloGoal goal_;
  Binding& binding_;
  const WorkloadConfig config_;
  RunPlan plan_;
  const TickClock& clock_;
  Interrupts& interrupts_;
};

void Print(const SloResult& result, const SloGoal& goal, Exporter& exporter) {
  exporter.Write("SLO", "Percentile", goal.percentile);
  exporter.Write("SLO", "Limit(ns)", static_cast<uint64_t>(goal.limit_nanos));
  exporter.Write("SLO", "Throughput(ops/sec)", result.found ? result.confirmed.asked_rate : 0);
  exporter.Write("SLO", "LowestMissed(ops/sec)", result.lowest_missed);
  exporter.Write("SLO", "Steps", uint64_t{result.steps});
  if (!result.found) return;
  const SloStep& step = result.confirmed;
  const auto operations = static_cast<double>(step.operations);
  exporter.Write("SLO", "Measured(ns)", step.nanos);
  exporter.Write("SLO", "Operations", step.operations);
  exporter.Write("SLO", "ShareAboveLimit", static_cast<double>(step.above_limit) / operations);
  exporter.Write("SLO", "ShareAboveLimitUpper95", UpperShare(step.above_limit, step.operations));
  exporter.Write("SLO", "Intervals", uint64_t{step.intervals});
  exporter.Write("SLO", "IntervalsMet", uint64_t{step.intervals_met});
}

absl::StatusOr<ExitStatus> Run(const CommandLine& line) {
  const Properties& properties = line.properties;
  DUNLIN_ASSIGN_OR_RETURN(WorkloadConfig config, ReadWorkload(properties));
  DUNLIN_ASSIGN_OR_RETURN(RunPlan plan, ReadPlan(properties, config, Phase::kRun));
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<Exporter> exporter,
                          MakeExporter(properties.Get("exporter", "TextMeasurementsExporter")));
  DUNLIN_ASSIGN_OR_RETURN(const bool load_first, properties.GetBool("kvbench.load", false));
  DUNLIN_ASSIGN_OR_RETURN(Interrupts interrupts, Interrupts::Make());
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<Binding> binding,
                          MakeBinding(line.binding, properties));
  const TickClock clock;
  if (load_first) {
    DUNLIN_ASSIGN_OR_RETURN(const Loaded loaded,
                            LoadFirst(*binding, config, properties, clock, interrupts));
    if (loaded.interrupted) return ExitStatus::kInterrupted;
  }
  Search search(line, *binding, std::move(config), std::move(plan), clock, interrupts);
  const absl::StatusOr<SloResult> result = SearchRate(
      line.slo.precision, [&](double rate, bool confirm) { return search.Step(rate, confirm); });
  if (absl::IsCancelled(result.status())) return ExitStatus::kInterrupted;
  DUNLIN_RETURN_IF_ERROR(result.status());
  Print(*result, line.slo, *exporter);
  std::fputs(exporter->Finish().c_str(), stdout);
  return result->found ? ExitStatus::kDone : ExitStatus::kFailures;
}

}  // namespace

ExitStatus RunSloCommand(const CommandLine& line) {
  const absl::StatusOr<ExitStatus> exit = Run(line);
  return exit.ok() ? *exit : Complain(exit.status());
}

}  // namespace dunlin::kvbench
