#include "bench/kvbench/report/condense.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dunlin::kvbench {
namespace {

constexpr size_t kLongestText = 1000;
constexpr int kMostMetrics = 32;
constexpr int kMostRemarks = 50;
constexpr size_t kMostProperties = 200;
constexpr int kMostReturns = 16;
constexpr int kMostPercentiles = 32;

// What one takes as JSON, and what all runs may take together.
constexpr size_t kStepBytes = 44;
constexpr size_t kIntervalMetricBytes = 110;
constexpr size_t kAllSteps = (size_t{6} << 20) / kStepBytes;
constexpr size_t kAllIntervals = (size_t{3} << 20) / kIntervalMetricBytes;

void Cut(std::string* text) {
  if (text->size() <= kLongestText) return;
  size_t end = kLongestText;
  while (end > 0 && (static_cast<uint8_t>((*text)[end]) & 0xc0) == 0x80) --end;
  text->resize(end);
  *text += "\u2026";
}

// Two maps in JSON, each with texts as its keys.
template <typename Map>
void CutMap(Map* map, size_t most) {
  std::map<std::string, typename Map::mapped_type> kept;
  for (const auto& [key, value] : *map) {
    std::string name = key;
    Cut(&name);
    kept.emplace(std::move(name), value);
  }
  while (kept.size() > most) kept.erase(std::prev(kept.end()));
  map->clear();
  for (auto& [key, value] : kept) (*map)[key] = std::move(value);
}

template <typename Repeated>
void Truncate(Repeated* list, int most) {
  if (list->size() > most) list->DeleteSubrange(most, list->size() - most);
}

// How many neighbours are joined so that at most `limit` are left.
int Stride(int size, size_t limit) {
  const auto wanted = static_cast<int>(std::max<size_t>(limit, 1));
  return std::max(1, (size + wanted - 1) / wanted);
}

void Thin(Distribution* distribution, size_t limit) {
  Truncate(distribution->mutable_percentiles(), kMostPercentiles);
  const int stride = Stride(distribution->steps_size(), limit);
  if (stride == 1) return;
  Distribution thinned;
  for (int i = 0; i < distribution->steps_size(); ++i) {
    const Step& step = distribution->steps(i);
    Step* into =
        i % stride == 0 ? thinned.add_steps() : thinned.mutable_steps(thinned.steps_size() - 1);
    into->set_upto_nanos(std::max(into->upto_nanos(), step.upto_nanos()));
    into->set_count(into->count() + step.count());
  }
  distribution->mutable_steps()->Swap(thinned.mutable_steps());
}

void Join(const MetricInterval& from, MetricInterval* into) {
  const double before = static_cast<double>(into->count());
  const double more = static_cast<double>(from.count());
  if (before + more > 0) {
    into->set_p50_nanos((into->p50_nanos() * before + from.p50_nanos() * more) / (before + more));
  }
  into->set_count(into->count() + from.count());
  into->set_p99_nanos(std::max(into->p99_nanos(), from.p99_nanos()));
  into->set_max_nanos(std::max(into->max_nanos(), from.max_nanos()));
}

// `begin` is where the first of them began, in seconds.
Interval JoinIntervals(const Results& run, int first, int last, double begin) {
  Interval joined;
  double operations = 0;
  double start = begin;
  for (int i = first; i < last; ++i) {
    const Interval& interval = run.intervals(i);
    operations += interval.operations_per_second() * (interval.end_seconds() - start);
    start = interval.end_seconds();
    for (const MetricInterval& metric : interval.metrics()) {
      MetricInterval* into = nullptr;
      for (MetricInterval& known : *joined.mutable_metrics()) {
        if (known.name() == metric.name()) into = &known;
      }
      if (into == nullptr) {
        *joined.add_metrics() = metric;
      } else {
        Join(metric, into);
      }
    }
  }
  joined.set_end_seconds(start);
  if (start > begin) joined.set_operations_per_second(operations / (start - begin));
  return joined;
}

void ThinIntervals(Results* run, size_t limit) {
  const int stride = Stride(run->intervals_size(), limit);
  if (stride == 1) return;
  std::vector<Interval> thinned;
  double begin = 0;
  for (int i = 0; i < run->intervals_size(); i += stride) {
    thinned.push_back(JoinIntervals(*run, i, std::min(i + stride, run->intervals_size()), begin));
    begin = thinned.back().end_seconds();
  }
  run->mutable_intervals()->Assign(thinned.begin(), thinned.end());
  run->add_remarks("each point of the time line joins " + std::to_string(stride) +
                   " intervals; its p99 is the greatest of them");
}

void CutTexts(Results* run) {
  for (std::string* text :
       {run->mutable_label(), run->mutable_binding(), run->mutable_store(), run->mutable_phase(),
        run->mutable_workload(), run->mutable_started(), run->mutable_release()}) {
    Cut(text);
  }
  if (run->has_host()) {
    Cut(run->mutable_host()->mutable_processor());
    Cut(run->mutable_host()->mutable_kernel());
  }
  Truncate(run->mutable_remarks(), kMostRemarks);
  for (std::string& remark : *run->mutable_remarks()) Cut(&remark);
  CutMap(run->mutable_properties(), kMostProperties);
  for (auto& [name, value] : *run->mutable_properties()) Cut(&value);
}

}  // namespace

PageLimits LimitsFor(std::span<const Results> runs) {
  size_t distributions = 0;
  size_t lines = 0;
  for (const Results& run : runs) {
    for (const Metric& metric : run.metrics()) {
      distributions += size_t{metric.has_latency()} + size_t{metric.has_intended()};
    }
    lines += static_cast<size_t>(std::clamp(run.metrics_size(), 1, kMostMetrics));
  }
  PageLimits limits;
  limits.steps =
      std::clamp<size_t>(kAllSteps / std::max<size_t>(distributions, 1), 40, limits.steps);
  limits.intervals =
      std::clamp<size_t>(kAllIntervals / std::max<size_t>(lines, 1), 20, limits.intervals);
  return limits;
}

Results Condense(const Results& run, const PageLimits& limits) {
  Results condensed = run;
  Truncate(condensed.mutable_metrics(), kMostMetrics);
  for (Metric& metric : *condensed.mutable_metrics()) {
    Cut(metric.mutable_name());
    CutMap(metric.mutable_returns(), kMostReturns);
    if (metric.has_latency()) Thin(metric.mutable_latency(), limits.steps);
    if (metric.has_intended()) Thin(metric.mutable_intended(), limits.steps);
  }
  CutTexts(&condensed);
  for (Interval& interval : *condensed.mutable_intervals()) {
    Truncate(interval.mutable_metrics(), kMostMetrics);
    for (MetricInterval& metric : *interval.mutable_metrics()) Cut(metric.mutable_name());
  }
  ThinIntervals(&condensed, limits.intervals);
  return condensed;
}

}  // namespace dunlin::kvbench
