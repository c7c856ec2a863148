#include "bench/kvbench/output/results_writer.h"

#include <google/protobuf/util/json_util.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "bench/kvbench/output/host.h"
#include "common/base/status.h"
#include "common/base/write_file.h"

namespace dunlin::kvbench {
namespace {

constexpr uint32_t kFormat = 1;
constexpr size_t kMaxSteps = 400;
constexpr double kMillion = 1e6;

struct Piece {
  uint64_t upto, count;
};

// Joins neighbours, in steps of one ratio, the smallest with which there are few enough.
std::vector<Piece> Thinned(const Histogram& histogram) {
  std::vector<Piece> pieces;
  histogram.ForEachStep([&](uint64_t highest, uint64_t count) {
    pieces.push_back({highest, count});
  });
  for (double ratio = 1.004; pieces.size() > kMaxSteps; ratio = 1 + (ratio - 1) * 1.5) {
    std::vector<Piece> fewer;
    double limit = 0;
    for (const Piece& piece : pieces) {
      const auto upto = static_cast<double>(piece.upto);
      if (!fewer.empty() && upto <= limit) {
        fewer.back() = {piece.upto, fewer.back().count + piece.count};
      } else {
        fewer.push_back(piece);
        limit = upto * ratio;
      }
    }
    pieces = std::move(fewer);
  }
  return pieces;
}

void Fill(const Histogram& histogram, const std::vector<double>& percentiles, Distribution* to) {
  to->set_count(histogram.count());
  to->set_min(static_cast<double>(histogram.min()));
  to->set_mean(histogram.Mean());
  to->set_max(static_cast<double>(histogram.max()));
  std::set<double> all = {50, 90, 95, 99, 99.9, 99.99};
  all.insert(percentiles.begin(), percentiles.end());
  for (const double percent : all) {
    Percentile* percentile = to->add_percentiles();
    percentile->set_percent(percent);
    percentile->set_nanos(static_cast<double>(histogram.Percentile(percent)));
  }
  for (const Piece& piece : Thinned(histogram)) {
    Step* step = to->add_steps();
    step->set_upto_nanos(static_cast<double>(piece.upto));
    step->set_count(piece.count);
  }
}

void FillMetrics(const RunOutcome& outcome, const std::vector<double>& percentiles,
                 Results& results) {
  outcome.metrics.ForEach(
      [&](const std::string& name, MetricId id, bool success, const MetricSet::Latency* latency) {
        Metric* metric = results.add_metrics();
        metric->set_name(name);
        if (latency != nullptr) {
          Fill(latency->call, percentiles, metric->mutable_latency());
          if (latency->scheduled != nullptr && id != MetricId::kCleanup) {
            Fill(*latency->scheduled, percentiles, metric->mutable_intended());
          }
        }
        const auto& returns = outcome.metrics.returns(id);
        for (size_t i = 0; success && i < kReturns; ++i) {
          if (returns[i] > 0) (*metric->mutable_returns())[std::string(ReturnName(i))] = returns[i];
        }
      });
}

void FillCost(const RunOutcome& outcome, const ResultsInput& input, Cost* cost) {
  if (input.overhead) cost->set_driver_nanos(input.overhead->nanos);
  const auto operations = static_cast<double>(outcome.operations);
  if (outcome.operations == 0) return;
  const auto per_million = [&](uint64_t nanos) {
    return static_cast<double>(nanos) / 1000 / operations * kMillion;
  };
  cost->set_client_cpu_us_per_million(per_million(outcome.client_cpu_nanos));
  cost->set_memory_bytes_per_record(input.record_bytes);
  if (outcome.before.known && outcome.after.known) {
    cost->set_server_known(true);
    cost->set_server_cpu_us_per_million(
        per_million(outcome.after.cpu_nanos - outcome.before.cpu_nanos));
    const auto memory = static_cast<double>(outcome.after.memory_bytes);
    cost->set_server_memory_bytes(memory);
    if (input.memory_before_load && input.records_loaded > 0) {
      cost->set_memory_bytes_per_record(
          std::max(0.0, (memory - *input.memory_before_load) / input.records_loaded));
    }
  }
  if (outcome.fabric.known && outcome.fabric.operations > 0) {
    const auto of = static_cast<double>(outcome.fabric.operations);
    cost->set_fabric_known(true);
    cost->set_round_trips_per_operation(static_cast<double>(outcome.fabric.round_trips) / of);
    cost->set_verbs_per_operation(static_cast<double>(outcome.fabric.verbs) / of);
  }
}

// The file's name without its folder.
std::string WorkloadName(const std::string& path) {
  if (path.empty()) return "custom";
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string Rfc3339(int64_t unix_nanos) {
  const time_t seconds = unix_nanos / 1'000'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return std::string(text, strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

// Not for others' eyes.
bool IsSecret(const std::string& name) { return name.find("password") != std::string::npos; }

}  // namespace

void TimeLine::OnInterval(const IntervalView& view) {
  // Too short for a rate that means something: what is left at the end of a run.
  if (!intervals_.empty() && view.seconds < 0.1) return;
  Interval& interval = intervals_.emplace_back();
  interval.set_end_seconds(view.end_seconds);
  interval.set_operations_per_second(
      view.seconds > 0 ? static_cast<double>(view.operations) / view.seconds : 0);
  view.metrics.ForEach(
      [&](const std::string& name, MetricId, bool, const MetricSet::Latency* latency) {
        if (latency == nullptr) return;
        // What an outsider waits for: with a schedule from when it was due.
        const Histogram& histogram = latency->intended();
        MetricInterval* metric = interval.add_metrics();
        metric->set_name(name);
        metric->set_count(histogram.count());
        metric->set_p50_nanos(static_cast<double>(histogram.Percentile(50)));
        metric->set_p99_nanos(static_cast<double>(histogram.Percentile(99)));
        metric->set_max_nanos(static_cast<double>(histogram.max()));
      });
}

Results MakeResults(const RunOutcome& outcome, const TimeLine& time_line,
                    const ResultsInput& input) {
  Results results;
  results.set_format(kFormat);
  results.set_label(input.properties.Get("label", ""));
  results.set_binding(input.binding);
  results.set_store(input.store);
  results.set_phase(input.plan.phase == Phase::kLoad ? "load" : "run");
  results.set_workload(WorkloadName(input.workload_file));
  for (const auto& [name, value] : input.properties.all()) {
    if (!IsSecret(name)) (*results.mutable_properties())[name] = value;
  }
  results.set_started(Rfc3339(outcome.started_unix_nanos));
  results.set_threads(input.plan.threads);
  results.set_batch(static_cast<uint32_t>(input.plan.batch));
  results.set_target(input.plan.target);
  results.set_seconds(outcome.seconds);
  results.set_operations(outcome.operations);
  if (outcome.seconds > 0) {
    results.set_operations_per_second(static_cast<double>(outcome.operations) / outcome.seconds);
  }
  FillMetrics(outcome, input.percentiles, results);
  for (const Interval& interval : time_line.intervals()) *results.add_intervals() = interval;
  FillCost(outcome, input, results.mutable_cost());
  *results.mutable_host() = DescribeHost();
  results.set_release(DUNLIN_RELEASE);
  for (const std::string& remark : input.remarks) results.add_remarks(remark);
  return results;
}

absl::Status WriteResultsFile(const Results& results, const std::string& path) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(results, &json, options);
  if (!status.ok()) {
    return MakeStatus(absl::StatusCode::kInternal, "results as JSON: " + status.ToString());
  }
  const int error = WriteWholeFile(path, json);
  if (error == 0) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    path + " could not be written: " + strerror(error));
}

}  // namespace dunlin::kvbench
