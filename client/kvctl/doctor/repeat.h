#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "client/kvctl/doctor/raw_probe.h"
#include "common/base/clock.h"
#include "common/base/histogram.h"
#include "common/base/status.h"

namespace dunlin::kvctl {

inline constexpr int64_t kLongestMeasurement = 300'000'000;  // nanoseconds

// Runs `operation`, which returns a status, `most` times, or until enough time has passed; records
// how long each took.
template <typename Operation>
absl::Status Repeat(const Clock& clock, uint64_t most, Histogram* times, Operation operation) {
  const int64_t start = clock.NowNanos();
  int64_t now = start;
  for (uint64_t i = 0; i < most && now - start < kLongestMeasurement; ++i) {
    DUNLIN_RETURN_IF_ERROR(operation());
    const int64_t end = clock.NowNanos();
    times->Record(static_cast<uint64_t>(std::max<int64_t>(end - now, 0)));
    now = end;
  }
  return absl::OkStatus();
}

inline Latency LatencyOf(const Histogram& times) {
  return {times.count(), times.Percentile(50), times.Percentile(99)};
}

inline Bandwidth BandwidthOf(const Histogram& times, uint64_t bytes_each) {
  const double nanos = times.Mean();
  return {bytes_each, nanos > 0 ? static_cast<double>(bytes_each) * 1e9 / nanos : 0};
}

}  // namespace dunlin::kvctl
