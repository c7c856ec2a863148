#include "bench/kvbench/measure/metric_set.h"

#include <algorithm>

#include "common/base/clock.h"

namespace dunlin::kvbench {

std::string_view MetricName(MetricId metric) {
  constexpr std::array<std::string_view, kMetrics> kNames = {
      "READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "VERIFY", "CLEANUP"};
  return kNames[static_cast<size_t>(metric)];
}

std::string_view ReturnName(size_t returned) {
  constexpr std::array<std::string_view, kReturns> kNames = {
      "OK", "NOT_FOUND", "ERROR", "UNKNOWN", "NOT_IMPLEMENTED", "UNEXPECTED_STATE"};
  return kNames[returned];
}

MetricSet::Latency* MetricSet::Add(size_t slot) {
  latencies_[slot] = std::make_unique<Latency>();
  if (scheduled_) latencies_[slot]->scheduled = std::make_unique<Histogram>();
  return latencies_[slot].get();
}

// The time is taken here, as YCSB does: whoever wants it pays for it.
void MetricSet::AddPoint(Latency& latency, uint64_t nanos, uint64_t since_schedule) const {
  const int64_t millis = SystemClock::Shared().WallNanos() / 1'000'000;
  latency.points.Add(keep_, millis, nanos, scheduled_ ? since_schedule : nanos);
}

void MetricSet::Merge(const MetricSet& other) {
  for (size_t slot = 0; slot < latencies_.size(); ++slot) {
    const Latency* from = other.latencies_[slot].get();
    if (from == nullptr || from->call.count() == 0) continue;
    Latency* to = latencies_[slot].get();
    if (to == nullptr) to = Add(slot);
    to->call.Merge(from->call);
    if (to->scheduled != nullptr && from->scheduled != nullptr) {
      to->scheduled->Merge(*from->scheduled);
    }
    if (keep_ != Keep::kNone) to->points.Merge(from->points);
  }
  for (size_t i = 0; i < kMetrics; ++i) {
    for (size_t j = 0; j < kReturns; ++j) returns_[i][j] += other.returns_[i][j];
  }
}

void MetricSet::Reset() {
  for (const std::unique_ptr<Latency>& latency : latencies_) {
    if (latency == nullptr || latency->call.count() == 0) continue;
    latency->call.Reset();
    latency->points.Clear();
    if (latency->scheduled != nullptr) latency->scheduled->Reset();
  }
  returns_ = {};
}

uint64_t MetricSet::CountOf(size_t returned) const {
  uint64_t sum = 0;
  for (const auto& each : returns_) sum += each[returned];
  return sum;
}

uint64_t MetricSet::points_left_out() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<Latency>& latency : latencies_) {
    if (latency != nullptr) sum += latency->points.left_out();
  }
  return sum;
}

bool MetricSet::AnyOf(MetricId metric) const {
  const auto index = static_cast<size_t>(metric);
  const auto& returns = returns_[index];
  return LatencyAt(index, 0) != nullptr ||
         std::any_of(returns.begin(), returns.end(), [](uint64_t count) { return count > 0; });
}

std::string MetricSet::NameOf(MetricId metric, size_t kind) {
  return std::string(MetricName(metric)) + "-" +
         std::string(kind == kFailed ? "FAILED" : ReturnName(kind - kFailed));
}

}  // namespace dunlin::kvbench
