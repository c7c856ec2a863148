#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "bench/kvbench/driver/overhead.h"
#include "bench/kvbench/driver/runner.h"
#include "bench/kvbench/measure/recorder.h"
#include "bench/kvbench/output/results_writer.h"
#include "common/base/clock.h"
#include "tests/unit/kvbench/core_testing.h"

namespace dunlin::kvbench {
namespace {

Properties With(std::string_view text) {
  Properties properties;
  properties.Set("workload", "site.ycsb.workloads.CoreWorkload");
  properties.Set("recordcount", "100");
  properties.Set("fieldcount", "1");
  properties.Set("readproportion", "1");
  properties.Set("updateproportion", "0");
  EXPECT_TRUE(properties.AddText(text, "test").ok());
  return properties;
}

struct Ready {
  WorkloadConfig config;
  RunPlan plan;
};

Ready Read(const Properties& properties, Phase phase) {
  const absl::StatusOr<WorkloadConfig> config = ReadWorkload(properties);
  EXPECT_TRUE(config.ok()) << config.status();
  const absl::StatusOr<RunPlan> plan = ReadPlan(properties, *config, phase);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return {*config, *plan};
}

RunOutcome RunOn(Binding& binding, std::string_view text, Phase phase,
                 std::vector<RunObserver*> observers = {}) {
  const Ready ready = Read(With(text), phase);
  const TickClock clock;
  Workload workload(ready.config, phase);
  absl::StatusOr<RunOutcome> outcome =
      RunPhase({.binding = binding, .clock = clock, .observers = std::move(observers)}, workload,
               ready.plan);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return *std::move(outcome);
}

uint64_t CountOf(const RunOutcome& outcome, const std::string& wanted) {
  uint64_t count = 0;
  outcome.metrics.ForEach(
      [&](const std::string& name, MetricId, bool, const MetricSet::Latency* latency) {
        if (name == wanted && latency != nullptr) count = latency->call.count();
      });
  return count;
}

// Each call takes as long as it is told to; and the first that comes when told so much longer.
class SlowStore final : public Binding {
 public:
  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return std::make_unique<SlowSession>(*this);
  }
  std::string Describe() const override { return "slow"; }

  std::atomic<int64_t> each_nanos{0};
  std::atomic<int64_t> stall_at{-1};  // the call, counted from 0
  std::atomic<int64_t> stall_nanos{0};
  std::atomic<int64_t> calls{0};

 private:
  class SlowSession final : public BindingSession {
   public:
    explicit SlowSession(SlowStore& store) : store_(store) {}
    void Execute(std::span<Request> requests) override {
      const int64_t call = store_.calls++;
      const int64_t nanos = call == store_.stall_at ? store_.stall_nanos : store_.each_nanos;
      const int64_t end = SystemClock::Shared().NowNanos() + nanos;
      while (SystemClock::Shared().NowNanos() < end) std::this_thread::yield();
      for (Request& request : requests) request.returned = Return::kOk;
    }

   private:
    SlowStore& store_;
  };
};

TEST(RunPlan, IsYcsbs) {
  EXPECT_EQ(Read(With("operationcount=3\nthreadcount=8"), Phase::kRun).plan.threads, 3u);
  EXPECT_EQ(Read(With("threadcount=8"), Phase::kRun).plan.threads, 8u);
  EXPECT_EQ(Read(With("insertcount=40"), Phase::kLoad).plan.operations, 40u);
  EXPECT_EQ(Read(With(""), Phase::kLoad).plan.operations, 100u);
  EXPECT_EQ(Read(With("latencytrackederrors=NOT_FOUND,SERVICE_UNAVAILABLE,ERROR"), Phase::kRun)
                .plan.apart,
            0b110u);
  EXPECT_EQ(Read(With("reportlatencyforeacherror=true"), Phase::kRun).plan.apart, ~0u);
  for (const char* text : {"threadcount=0", "kvbench.batch=0", "maxexecutiontime=-1",
                           "kvbench.interval=0", "target=fast"}) {
    const Properties properties = With(text);
    const auto config = ReadWorkload(properties);
    ASSERT_TRUE(config.ok());
    EXPECT_FALSE(ReadPlan(properties, *config, Phase::kRun).ok()) << text;
  }
}

TEST(Runner, AllThreadsLoadAllRecords) {
  MapStore store;
  const RunOutcome outcome = RunOn(store, "recordcount=1003\nthreadcount=4", Phase::kLoad);
  EXPECT_EQ(store.records().size(), 1003u);
  EXPECT_EQ(outcome.operations, 1003u);
  EXPECT_EQ(CountOf(outcome, "INSERT"), 1003u);
  EXPECT_EQ(CountOf(outcome, "CLEANUP"), 4u);
  EXPECT_TRUE(outcome.troubles.empty());
}

TEST(Runner, BatchesAreOfTheThreadsOwnOperations) {
  MapStore store;
  const RunOutcome outcome =
      RunOn(store, "recordcount=1003\nthreadcount=2\nkvbench.batch=100", Phase::kLoad);
  EXPECT_EQ(store.records().size(), 1003u);
  EXPECT_EQ(store.seen().calls, 12u);
  EXPECT_EQ(outcome.operations, 1003u);
}

TEST(Runner, AThreadThatCannotInsertEnds) {
  MapStore store;
  store.FailInserts(1);
  const RunOutcome outcome = RunOn(store, "recordcount=100", Phase::kLoad);
  EXPECT_EQ(outcome.operations, 1u);
  ASSERT_EQ(outcome.troubles.size(), 1u);
  EXPECT_NE(outcome.troubles[0].find("Error inserting"), std::string::npos);
}

TEST(Runner, EndsInTime) {
  SlowStore store;
  store.each_nanos = 100'000;
  const RunOutcome outcome = RunOn(store, "maxexecutiontime=0.3\nthreadcount=2", Phase::kRun);
  EXPECT_GE(outcome.seconds, 0.3);
  EXPECT_GT(outcome.operations, 0u);
  EXPECT_EQ(CountOf(outcome, "READ"), outcome.operations);
}

TEST(Runner, KeepsItsTarget) {
  SlowStore store;
  const RunOutcome outcome =
      RunOn(store, "operationcount=200\ntarget=1000\nthreadcount=2", Phase::kRun);
  // 100 operations of a thread, the last one due after 99 of its steps of 2 ms; later if the
  // machine is busy, never earlier.
  EXPECT_GE(outcome.seconds, 0.198);
  EXPECT_EQ(CountOf(outcome, "READ"), 200u);
}

// A store that stops for 100 ms while an operation is due every millisecond: by the calls one
// operation was slow, but some hundred came late.
TEST(Runner, AStallIsSeenByAllThatWaitedForIt) {
  SlowStore store;
  store.stall_at = 20;
  store.stall_nanos = 100'000'000;
  const RunOutcome outcome = RunOn(store, "operationcount=200\ntarget=1000", Phase::kRun);
  uint64_t slow_calls = 0, late = 0;
  outcome.metrics.ForEach(
      [&](const std::string& name, MetricId, bool, const MetricSet::Latency* latency) {
        if (name != "READ") return;
        ASSERT_NE(latency->scheduled, nullptr);
        const auto count_above = [](const Histogram& histogram, uint64_t nanos) {
          uint64_t sum = 0;
          histogram.ForEachStep(
              [&](uint64_t highest, uint64_t count) { sum += highest >= nanos ? count : 0; });
          return sum;
        };
        slow_calls = count_above(latency->call, 50'000'000);
        late = count_above(*latency->scheduled, 50'000'000);
      });
  EXPECT_GE(slow_calls, 1u);
  // Those due in the first half of the stall. The machine may stall as well, for both.
  EXPECT_GE(late, slow_calls + 40);
}

class Intervals final : public RunObserver {
 public:
  void OnInterval(const IntervalView& interval) override {
    operations += interval.operations;
    ++count;
    last_end = interval.end_seconds;
    interval.metrics.ForEach(
        [&](const std::string&, MetricId id, bool, const MetricSet::Latency* latency) {
          if (latency != nullptr && id == MetricId::kRead) measured += latency->call.count();
        });
  }
  uint64_t operations = 0, measured = 0;
  int count = 0;
  double last_end = 0;
};

TEST(Runner, IntervalsAddUpToTheWhole) {
  SlowStore store;
  store.each_nanos = 200'000;
  Intervals intervals;
  TimeLine time_line;
  const RunOutcome outcome = RunOn(store, "maxexecutiontime=0.55\nkvbench.interval=0.1",
                                   Phase::kRun, {&intervals, &time_line});
  EXPECT_GE(intervals.count, 1);
  EXPECT_EQ(intervals.operations, outcome.operations);
  EXPECT_EQ(intervals.measured, outcome.operations);
  EXPECT_DOUBLE_EQ(intervals.last_end, outcome.seconds);
  EXPECT_FALSE(time_line.intervals().empty());
}

class NoStore final : public Binding {
 public:
  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    return absl::UnavailableError("nobody is there");
  }
  std::string Describe() const override { return "none"; }
};

TEST(Runner, SaysIfNoSessionCanBeOpened) {
  NoStore store;
  const Ready ready = Read(With("operationcount=1"), Phase::kRun);
  const TickClock clock;
  Workload workload(ready.config, Phase::kRun);
  const auto outcome = RunPhase({.binding = store, .clock = clock}, workload, ready.plan);
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kUnavailable);
}

TEST(Recorder, LosesNothingBetweenItsTwoSides) {
  Recorder recorder(false);
  std::atomic<bool> ended{false};
  constexpr uint64_t kCount = 300'000;
  std::thread thread([&] {
    for (uint64_t i = 1; i <= kCount; ++i) {
      recorder.set().Record(MetricId::kRead, 0, i, 0);
      recorder.set().CountReturn(MetricId::kRead, 0);
      recorder.Offer(i);
    }
    ended = true;
  });
  MetricSet all(false);
  while (!ended) {
    recorder.Ask();
    recorder.Collect(all);
  }
  thread.join();
  recorder.CollectRest(all);
  EXPECT_EQ(all.returns(MetricId::kRead)[0], kCount);
  EXPECT_EQ(recorder.operations(), kCount);
  all.ForEach([&](const std::string&, MetricId, bool, const MetricSet::Latency* latency) {
    EXPECT_EQ(latency->call.count(), kCount);
    EXPECT_EQ(latency->call.min(), 1u);
    EXPECT_EQ(latency->call.max(), kCount);
  });
}

TEST(MetricSet, KeepsFailuresApart) {
  MetricSet together(false), each(false, ~0u), one(false, 1u << 2);
  for (MetricSet* set : {&together, &each, &one}) {
    set->Record(MetricId::kRead, 0, 1, 1);
    set->Record(MetricId::kRead, 1, 1, 1);
    set->Record(MetricId::kRead, 2, 1, 1);
  }
  const auto names = [](const MetricSet& set) {
    std::string all;
    set.ForEach([&](const std::string& name, MetricId, bool, const MetricSet::Latency*) {
      all += name + " ";
    });
    return all;
  };
  EXPECT_EQ(names(together), "READ READ-FAILED ");
  EXPECT_EQ(names(each), "READ READ-NOT_FOUND READ-ERROR ");
  EXPECT_EQ(names(one), "READ READ-FAILED READ-ERROR ");
}

TEST(TickClock, GoesAsTheSystemsDoes) {
  using std::chrono::steady_clock;
  const TickClock clock;
  double best = 1;
  // The machine may do something else between two readings: the closest of a few counts.
  for (int attempt = 0; attempt < 20 && best > 0.005; ++attempt) {
    const uint64_t ticks = clock.Now();
    const auto start = steady_clock::now();
    while (steady_clock::now() - start < std::chrono::milliseconds(20)) {
    }
    const auto nanos = static_cast<double>(clock.ToNanos(clock.Now() - ticks));
    const std::chrono::duration<double, std::nano> real = steady_clock::now() - start;
    best = std::min(best, std::fabs(nanos / real.count() - 1));
  }
  EXPECT_LT(best, 0.005);
  EXPECT_NEAR(static_cast<double>(clock.ToNanos(clock.FromNanos(1'000'000'000))), 1e9, 1000);
}

class Nothing final : public Binding {
 public:
  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    class NoSession final : public BindingSession {
      void Execute(std::span<Request> requests) override {
        for (Request& request : requests) request.returned = Return::kOk;
      }
    };
    return std::make_unique<NoSession>();
  }
  std::string Describe() const override { return "nothing"; }
};

TEST(Overhead, IsMeasured) {
  Nothing nothing;
  const Ready ready = Read(With(""), Phase::kRun);
  const TickClock clock;
  const auto overhead = MeasureOverhead(nothing, ready.config, ready.plan, clock);
  ASSERT_TRUE(overhead.ok());
  EXPECT_GT(overhead->nanos, 1);
  EXPECT_LT(overhead->nanos, 100'000);
  EXPECT_LT(overhead->empty_nanos, overhead->nanos * 2);
}

TEST(Results, HoldWhatWasMeasured) {
  MapStore store;
  TimeLine time_line;
  const std::string text = "recordcount=500\nredis.password=secret\nlabel=a label";
  const Properties properties = With(text);
  const Ready ready = Read(properties, Phase::kLoad);
  const RunOutcome outcome = RunOn(store, text, Phase::kLoad, {&time_line});
  const std::optional<Overhead> overhead = Overhead{.nanos = 55};
  const Results results = MakeResults(outcome, time_line,
                                      {.properties = properties,
                                       .plan = ready.plan,
                                       .binding = "map",
                                       .store = store.Describe(),
                                       .workload_file = "some/folder/workloada",
                                       .percentiles = {50, 99.5},
                                       .overhead = overhead,
                                       .memory_before_load = std::nullopt,
                                       .remarks = {"a remark"}});
  EXPECT_EQ(results.format(), 1u);
  EXPECT_EQ(results.label(), "a label");
  EXPECT_EQ(results.phase(), "load");
  EXPECT_EQ(results.workload(), "workloada");
  EXPECT_EQ(results.operations(), 500u);
  EXPECT_EQ(results.properties().count("redis.password"), 0u);
  EXPECT_EQ(results.properties().at("recordcount"), "500");
  EXPECT_EQ(results.cost().driver_nanos(), 55);
  EXPECT_FALSE(results.cost().server_known());
  ASSERT_GE(results.metrics_size(), 1);
  const Metric& insert = results.metrics(0);
  EXPECT_EQ(insert.name(), "INSERT");
  EXPECT_EQ(insert.returns().at("OK"), 500u);
  EXPECT_EQ(insert.latency().count(), 500u);
  EXPECT_EQ(insert.latency().percentiles_size(), 7);
  uint64_t steps = 0;
  for (const Step& step : insert.latency().steps()) steps += step.count();
  EXPECT_EQ(steps, 500u);
  EXPECT_FALSE(insert.has_intended());
  EXPECT_EQ(results.remarks(0), "a remark");
  EXPECT_NE(results.host().cores(), 0u);
}

TEST(Results, DistributionsAreThinned) {
  RunOutcome outcome{MetricSet(false)};
  for (uint64_t i = 0; i < 100'000; ++i) outcome.metrics.Record(MetricId::kRead, 0, i * 977, 0);
  outcome.operations = 100'000;
  outcome.seconds = 1;
  const Properties properties;
  const std::optional<Overhead> overhead;
  const RunPlan plan;
  const Results results = MakeResults(outcome, TimeLine(),
                                      {.properties = properties,
                                       .plan = plan,
                                       .binding = "",
                                       .store = "",
                                       .workload_file = "",
                                       .percentiles = {},
                                       .overhead = overhead,
                                       .memory_before_load = std::nullopt,
                                       .remarks = {}});
  EXPECT_EQ(results.workload(), "custom");
  const auto& steps = results.metrics(0).latency().steps();
  EXPECT_LE(steps.size(), 400);
  EXPECT_GE(steps.size(), 150);
  uint64_t count = 0;
  double upto = -1;
  for (const Step& step : steps) {
    count += step.count();
    EXPECT_GT(step.upto_nanos(), upto);
    upto = step.upto_nanos();
  }
  EXPECT_EQ(count, 100'000u);
}

}  // namespace
}  // namespace dunlin::kvbench
