#include "bench/kvbench/driver/overhead.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "bench/kvbench/measure/recorder.h"
#include "bench/kvbench/workload/operations.h"
#include "bench/kvbench/workload/workload.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr size_t kSlices = 15;
constexpr int64_t kSliceNanos = 4'000'000;

// Of this thread: what others run meanwhile doesn't count.
int64_t ThreadNanos() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

absl::StatusOr<Overhead> MeasureOverhead(Binding& nothing, const WorkloadConfig& config,
                                         const RunPlan& plan, const TickClock& clock) {
  Workload workload(config, plan.phase);
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<BindingSession> session, nothing.Open());
  Recorder recorder(plan.target > 0, plan.apart);
  const std::atomic<bool> stop{false};
  Operations operations(workload, *session, recorder, clock, plan.batch, 0, stop);

  std::array<double, kSlices> slices{};
  uint64_t done = 0;
  for (double& slice : slices) {
    const int64_t start = ThreadNanos();
    const uint64_t before = done;
    int64_t elapsed = 0;
    do {
      for (int i = 0; i < 256; ++i) {
        if (plan.phase == Phase::kLoad) {
          operations.Load(plan.batch, 0);
        } else {
          operations.Transact(plan.batch, 0);
        }
        done += plan.batch;
        recorder.Offer(done);
      }
      elapsed = ThreadNanos() - start;
    } while (elapsed < kSliceNanos);
    slice = static_cast<double>(elapsed) / static_cast<double>(done - before);
  }
  std::nth_element(slices.begin(), slices.begin() + kSlices / 2, slices.end());

  Overhead overhead{.nanos = slices[kSlices / 2]};
  Histogram all;
  recorder.set().ForEach([&](const std::string&, MetricId metric, bool, const auto* latency) {
    if (latency != nullptr && metric != MetricId::kVerify) all.Merge(latency->call);
  });
  overhead.empty_nanos = static_cast<double>(all.Percentile(50));
  return overhead;
}

}  // namespace dunlin::kvbench
