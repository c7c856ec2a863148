#include "bench/kvbench/output/point_report.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace dunlin::kvbench {
namespace {

uint64_t MicrosOf(const Point& point, bool intended) {
  return intended ? point.intended_micros : point.call_micros;
}

}  // namespace

std::string RawLines(const std::string& name, const Points& points, bool intended) {
  std::string lines = name + " latency raw data: op, timestamp(ms), latency(us)\n";
  for (const Point& point : points.all()) {
    lines += name + "," + std::to_string(point.unix_millis) + "," +
             std::to_string(MicrosOf(point, intended)) + "\n";
  }
  return lines;
}

void WriteRawSummary(const std::string& name, const Points& points, bool intended,
                     bool with_latencies, Exporter& exporter) {
  exporter.Write(name, "Total Operations", uint64_t{points.all().size()});
  if (points.all().empty() || !with_latencies) return;
  std::vector<uint64_t> sorted;
  uint64_t sum = 0;
  for (const Point& point : points.all()) {
    sorted.push_back(MicrosOf(point, intended));
    sum += sorted.back();
  }
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  exporter.Write(name, "Below is a summary of latency in microseconds:", int64_t{-1});
  exporter.Write(name, "Average", static_cast<double>(sum) / count);
  exporter.Write(name, "Min", sorted.front());
  exporter.Write(name, "Max", sorted.back());
  constexpr std::pair<const char*, double> kShares[] = {
      {"p1", 0.01},  {"p5", 0.05},  {"p50", 0.5},     {"p90", 0.9},
      {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
  for (const auto& [label, share] : kShares) {
    exporter.Write(name, label, sorted[static_cast<size_t>(count * share)]);
  }
}

void WriteSeries(const std::string& name, const Points& points, bool intended, int64_t granularity,
                 Exporter& exporter) {
  const std::vector<Point>& all = points.all();
  if (all.empty()) {
    exporter.Write(name, "0", std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const int64_t start = all.front().unix_millis;
  const auto unit_of = [&](const Point& point) {
    return (point.unix_millis - start) / granularity * granularity;
  };
  for (auto at = all.begin(); at != all.end();) {
    const int64_t unit = unit_of(*at);
    uint64_t sum = 0, count = 0;
    for (; at != all.end() && unit_of(*at) == unit; ++at) {
      sum += MicrosOf(*at, intended);
      count += at->count;
    }
    exporter.Write(name, std::to_string(unit),
                   static_cast<double>(sum) / static_cast<double>(count));
  }
}

}  // namespace dunlin::kvbench
