#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/kvbench/binding.h"
#include "bench/kvbench/measure/points.h"
#include "common/base/histogram.h"

namespace dunlin::kvbench {

// What is measured, as YCSB calls it.
enum class MetricId : uint8_t {
  kRead,
  kUpdate,
  kInsert,
  kScan,
  kReadModifyWrite,
  kVerify,
  kCleanup,
};
inline constexpr size_t kMetrics = 7;
std::string_view MetricName(MetricId metric);

// How it ended: the values of Return, and what only the driver can tell.
inline constexpr size_t kUnexpectedState = 5;  // a value that isn't what was put
inline constexpr size_t kReturns = 6;
std::string_view ReturnName(size_t returned);

// Latencies and return codes of one thread, or of several merged. Not thread safe.
class MetricSet {
 public:
  struct Latency {
    Histogram call;                        // from the call to its end
    std::unique_ptr<Histogram> scheduled;  // from when the schedule had it begin, if there is one
    // Without a schedule an operation is meant to begin when it begins.
    const Histogram& intended() const { return scheduled == nullptr ? call : *scheduled; }
    Points points;  // what is to be kept of them
  };

  // `scheduled`: there is a schedule. `apart`: which return codes' failures are kept apart
  // ("READ-NOT_FOUND"), a bit each; the others are together ("READ-FAILED").
  explicit MetricSet(bool scheduled, uint32_t apart = 0, Keep keep = Keep::kNone)
      : scheduled_(scheduled), apart_(apart), keep_(keep) {}

  // Nanoseconds. `since_schedule` is ignored without a schedule.
  void Record(MetricId metric, size_t returned, uint64_t nanos, uint64_t since_schedule) {
    const size_t slot = SlotOf(metric, returned);
    Latency* latency = latencies_[slot].get();
    if (latency == nullptr) latency = Add(slot);
    latency->call.Record(nanos);
    if (latency->scheduled != nullptr) latency->scheduled->Record(since_schedule);
    if (keep_ != Keep::kNone) AddPoint(*latency, nanos, since_schedule);
  }
  void CountReturn(MetricId metric, size_t returned) {
    ++returns_[static_cast<size_t>(metric)][returned];
  }

  void Merge(const MetricSet& other);
  // Keeps its memory.
  void Reset();

  bool scheduled() const { return scheduled_; }
  const std::array<uint64_t, kReturns>& returns(MetricId metric) const {
    return returns_[static_cast<size_t>(metric)];
  }
  uint64_t CountOf(size_t returned) const;  // of all metrics
  uint64_t points_left_out() const;

  // Calls visit(name, metric, success, latency or null) for everything that was measured, in one
  // order: a metric that only failed has a name without latency, whose return codes are to be told.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < kMetrics; ++i) {
      const auto metric = static_cast<MetricId>(i);
      if (AnyOf(metric)) visit(std::string(MetricName(metric)), metric, true, LatencyAt(i, 0));
      for (size_t kind = 1; kind < kKinds; ++kind) {
        const Latency* latency = LatencyAt(i, kind);
        if (latency != nullptr) visit(NameOf(metric, kind), metric, false, latency);
      }
    }
  }

 private:
  // Successes, failures together, and behind them each return code's that is kept apart.
  static constexpr size_t kFailed = 1;
  static constexpr size_t kKinds = 1 + kReturns;

  size_t SlotOf(MetricId metric, size_t returned) const {
    size_t kind = 0;
    if (returned != 0) kind = (apart_ >> returned & 1) != 0 ? kFailed + returned : kFailed;
    return static_cast<size_t>(metric) * kKinds + kind;
  }
  const Latency* LatencyAt(size_t metric, size_t kind) const {
    const Latency* latency = latencies_[metric * kKinds + kind].get();
    return latency == nullptr || latency->call.count() == 0 ? nullptr : latency;
  }
  bool AnyOf(MetricId metric) const;
  static std::string NameOf(MetricId metric, size_t kind);
  Latency* Add(size_t slot);
  void AddPoint(Latency& latency, uint64_t nanos, uint64_t since_schedule) const;

  bool scheduled_;
  uint32_t apart_;
  Keep keep_;
  std::array<std::unique_ptr<Latency>, kMetrics * kKinds> latencies_;
  std::array<std::array<uint64_t, kReturns>, kMetrics> returns_{};
};

}  // namespace dunlin::kvbench
