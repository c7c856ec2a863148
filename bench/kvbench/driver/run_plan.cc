#include "bench/kvbench/driver/run_plan.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "bench/kvbench/measure/metric_set.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr int64_t kMaxThreads = 4096;
constexpr int64_t kMaxBatch = 65'536;

absl::Status Refused(std::string_view name, std::string_view expected, const Properties& from) {
  std::string message = "property " + std::string(name) + ": expected " + std::string(expected) +
                        ", found \"" + from.Get(name, "") + "\"";
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

// Names that no store here returns are no mistake: other bindings of YCSB have their own.
absl::StatusOr<uint32_t> ReadApart(const Properties& properties) {
  DUNLIN_ASSIGN_OR_RETURN(const bool all, properties.GetBool("reportlatencyforeacherror", false));
  if (all) return ~uint32_t{0};
  const std::string list = "," + properties.Get("latencytrackederrors", "") + ",";
  uint32_t apart = 0;
  for (size_t i = 1; i < kReturns; ++i) {
    const std::string name = "," + std::string(ReturnName(i)) + ",";
    if (list.find(name) != std::string::npos) apart |= uint32_t{1} << i;
  }
  return apart;
}

}  // namespace

absl::StatusOr<RunPlan> ReadPlan(const Properties& properties, const WorkloadConfig& workload,
                                 Phase phase) {
  RunPlan plan{.phase = phase};
  const int64_t operations = phase == Phase::kLoad ? workload.load_count : workload.operation_count;
  if (phase == Phase::kLoad && operations == 0) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "how many records are to be loaded? Give -p recordcount=N");
  }
  plan.operations = static_cast<uint64_t>(operations);
  DUNLIN_ASSIGN_OR_RETURN(const int64_t threads, properties.GetInt("threadcount", 1));
  if (threads < 1 || threads > kMaxThreads) {
    return Refused("threadcount", "a number from 1 to 4096", properties);
  }
  plan.threads = static_cast<uint32_t>(operations > 0 ? std::min(threads, operations) : threads);
  DUNLIN_ASSIGN_OR_RETURN(const int64_t batch, properties.GetInt("kvbench.batch", 1));
  if (batch < 1 || batch > kMaxBatch) {
    return Refused("kvbench.batch", "a number from 1 to 65536", properties);
  }
  plan.batch = static_cast<size_t>(batch);
  DUNLIN_ASSIGN_OR_RETURN(plan.target, properties.GetDouble("target", 0));
  DUNLIN_ASSIGN_OR_RETURN(plan.max_seconds, properties.GetDouble("maxexecutiontime", 0));
  if (plan.max_seconds < 0) return Refused("maxexecutiontime", "0 or more seconds", properties);
  DUNLIN_ASSIGN_OR_RETURN(plan.spin, properties.GetBool("spin.sleep", false));
  DUNLIN_ASSIGN_OR_RETURN(plan.apart, ReadApart(properties));
  DUNLIN_ASSIGN_OR_RETURN(plan.interval_seconds, properties.GetDouble("kvbench.interval", 1));
  if (plan.interval_seconds < 0.1 || plan.interval_seconds > 3600) {
    return Refused("kvbench.interval", "seconds from 0.1 to 3600", properties);
  }
  return plan;
}

}  // namespace dunlin::kvbench
