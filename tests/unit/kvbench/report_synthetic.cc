#include "tests/unit/kvbench/report_synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace dunlin::kvbench {
namespace {

constexpr uint64_t kOperations = 1'000'000;
constexpr int kSamples = 4000;

Distribution Draw(double median, std::mt19937& random, int steps) {
  std::lognormal_distribution<double> body(std::log(median), 0.25);
  std::exponential_distribution<double> tail(1);
  std::vector<double> values(kSamples);
  for (double& value : values) {
    value = body(random);
    if (random() % 500 == 0) value *= 10 + 20 * tail(random);
  }
  std::sort(values.begin(), values.end());

  Distribution drawn;
  drawn.set_count(kOperations);
  drawn.set_min(values.front());
  drawn.set_max(values.back());
  double sum = 0;
  for (const double value : values) sum += value;
  drawn.set_mean(sum / kSamples);
  for (const double percent : {50., 90., 95., 99., 99.9, 99.99}) {
    Percentile* percentile = drawn.add_percentiles();
    percentile->set_percent(percent);
    percentile->set_nanos(values[std::min(kSamples - 1, int(percent / 100 * kSamples))]);
  }
  const double ratio = std::pow(values.back() / values.front(), 1.0 / steps);
  auto next = values.begin();
  for (int i = 1; i <= steps; ++i) {
    const double upto = i == steps ? values.back() : values.front() * std::pow(ratio, i);
    const auto end = std::upper_bound(next, values.end(), upto);
    Step* step = drawn.add_steps();
    step->set_upto_nanos(upto);
    step->set_count(static_cast<uint64_t>(end - next) * kOperations / kSamples);
    next = end;
  }
  return drawn;
}

void AddIntervals(const SyntheticRun& wanted, std::mt19937& random, Results* results) {
  std::uniform_real_distribution<double> wobble(0.9, 1.1);
  for (int i = 1; i <= wanted.intervals; ++i) {
    Interval* interval = results->add_intervals();
    interval->set_end_seconds(results->seconds() * i / wanted.intervals);
    interval->set_operations_per_second(results->operations_per_second() * wobble(random));
    MetricInterval* metric = interval->add_metrics();
    metric->set_name("READ");
    metric->set_count(kOperations / static_cast<uint64_t>(wanted.intervals));
    metric->set_p50_nanos(wanted.median_nanos * wobble(random));
    metric->set_p99_nanos(wanted.median_nanos * 3 * wobble(random));
    metric->set_max_nanos(wanted.median_nanos * 50);
  }
}

}  // namespace

Results Synthesize(const SyntheticRun& wanted) {
  std::mt19937 random(static_cast<uint32_t>(wanted.seed));
  std::uniform_real_distribution<double> wobble(0.95, 1.05);
  Results results;
  results.set_format(1);
  results.set_label(wanted.label);
  results.set_binding("synthetic");
  results.set_store(wanted.label + " 1.0");
  results.set_phase("run");
  results.set_workload(wanted.workload);
  (*results.mutable_properties())["fieldcount"] = "1";
  (*results.mutable_properties())["recordcount"] = "1000000";
  results.set_started("2026-01-02T03:04:05Z");
  results.set_threads(1);
  results.set_batch(static_cast<uint32_t>(wanted.batch));
  results.set_target(wanted.target);
  results.set_operations(kOperations);
  results.set_operations_per_second(1e9 / wanted.median_nanos * wobble(random));
  results.set_seconds(kOperations / results.operations_per_second());

  Metric* read = results.add_metrics();
  read->set_name("READ");
  *read->mutable_latency() = Draw(wanted.median_nanos, random, wanted.steps);
  (*read->mutable_returns())["OK"] = kOperations;
  if (wanted.target > 0) {
    *read->mutable_intended() = Draw(wanted.median_nanos * 2, random, wanted.steps);
  }
  AddIntervals(wanted, random, &results);

  Cost* cost = results.mutable_cost();
  cost->set_client_cpu_us_per_million(wanted.median_nanos * 500);
  cost->set_server_known(true);
  cost->set_server_cpu_us_per_million(wanted.median_nanos * 300);
  cost->set_memory_bytes_per_record(150);
  cost->set_fabric_known(true);
  cost->set_round_trips_per_operation(1.02);
  cost->set_verbs_per_operation(2.04);
  cost->set_driver_nanos(61);
  results.mutable_host()->set_processor("A processor");
  results.mutable_host()->set_cores(2);
  results.mutable_host()->set_memory_bytes(8e9);
  results.set_release("0.1.0");
  return results;
}

std::vector<Results> SynthesizeMany(int count) {
  const std::vector<SyntheticRun> stores = {
      {.label = "near", .median_nanos = 400},
      {.label = "near, in batches", .median_nanos = 900, .batch = 16},
      {.label = "one core", .median_nanos = 8'000},
      {.label = "left to the scheduler", .median_nanos = 80'000},
  };
  const std::vector<std::string> workloads = {"workloada", "workloadb", "workloadc"};
  std::vector<Results> runs;
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<size_t>(i);
    SyntheticRun wanted = stores[number % stores.size()];
    wanted.workload = workloads[number / stores.size() % workloads.size()];
    wanted.seed = i + 1;
    runs.push_back(Synthesize(wanted));
  }
  return runs;
}

}  // namespace dunlin::kvbench
