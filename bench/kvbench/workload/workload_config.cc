#include "bench/kvbench/workload/workload_config.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "bench/kvbench/workload/record_codec.h"
#include "common/base/read_file.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 4;
constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxFields = 100'000;
constexpr int64_t kMaxFieldBytes = 64 << 20;
constexpr int64_t kMaxPadding = 1000;
constexpr size_t kMaxHistogramBytes = 16u << 20;

absl::Status Refused(std::string message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

absl::StatusOr<int64_t> Int(const Properties& properties, std::string_view name, int64_t otherwise,
                            int64_t least, int64_t most) {
  DUNLIN_ASSIGN_OR_RETURN(const int64_t value, properties.GetInt(name, otherwise));
  if (value >= least && value <= most) return value;
  return Refused("property " + std::string(name) + ": expected a number from " +
                 std::to_string(least) + " to " + std::to_string(most) + ", found " +
                 std::to_string(value));
}

absl::StatusOr<double> Fraction(const Properties& properties, std::string_view name,
                                double otherwise) {
  DUNLIN_ASSIGN_OR_RETURN(const double value, properties.GetDouble(name, otherwise));
  if (value >= 0 && value <= 1) return value;
  return Refused("property " + std::string(name) + ": expected a number from 0 to 1, found " +
                 properties.Get(name, ""));
}

absl::Status ReadClass(const Properties& properties) {
  const std::string name = properties.Get("workload", "");
  if (name.empty()) {
    return Refused(
        "Missing property: workload. Give a workload's file with -P (bench/workloads has YCSB's), "
        "or -p workload=site.ycsb.workloads.CoreWorkload");
  }
  if (name == "site.ycsb.workloads.CoreWorkload" ||
      name == "com.yahoo.ycsb.workloads.CoreWorkload") {
    return absl::OkStatus();
  }
  return Refused("property workload: there is site.ycsb.workloads.CoreWorkload alone, found \"" +
                 name + "\"");
}

absl::Status ReadCounts(const Properties& properties, WorkloadConfig& config) {
  DUNLIN_ASSIGN_OR_RETURN(config.record_count, Int(properties, "recordcount", 0, 0, kMost));
  const bool told = config.record_count > 0;
  DUNLIN_ASSIGN_OR_RETURN(config.operation_count, Int(properties, "operationcount", 0, 0, kMost));
  const int64_t load_default = config.record_count;
  if (!told) config.record_count = kMaxInt;
  DUNLIN_ASSIGN_OR_RETURN(config.insert_start,
                          Int(properties, "insertstart", 0, 0, config.record_count));
  const int64_t left = config.record_count - config.insert_start;
  DUNLIN_ASSIGN_OR_RETURN(config.insert_count, Int(properties, "insertcount", left, 0, kMost));
  config.load_count = properties.Has("insertcount") ? config.insert_count : load_default;
  if (config.insert_count > left) {
    return Refused("recordcount is " + std::to_string(config.record_count) +
                   ", and must be at least insertstart + insertcount, which are " +
                   std::to_string(config.insert_start) + " and " +
                   std::to_string(config.insert_count));
  }
  if (config.insert_count == 0) return Refused("insertcount is 0: there are no records to use");
  return absl::OkStatus();
}

absl::Status ReadFieldLength(const Properties& properties, WorkloadConfig& config) {
  const std::string kind = properties.Get("fieldlengthdistribution", "constant");
  DUNLIN_ASSIGN_OR_RETURN(const int64_t most,
                          Int(properties, "fieldlength", 100, 0, kMaxFieldBytes));
  DUNLIN_ASSIGN_OR_RETURN(const int64_t least, Int(properties, "minfieldlength",
                                                   std::min<int64_t>(1, most), 0, kMaxFieldBytes));
  if (kind != "constant" && config.data_integrity) {
    return Refused("dataintegrity=true needs fieldlengthdistribution=constant, found \"" + kind +
                   "\"");
  }
  if (kind == "constant") {
    config.field_length = FieldLength::Constant(static_cast<uint32_t>(most));
    return absl::OkStatus();
  }
  if (kind == "histogram") {
    const std::string path = properties.Get("fieldlengthhistogram", "hist.txt");
    DUNLIN_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxHistogramBytes));
    DUNLIN_ASSIGN_OR_RETURN(config.field_length, FieldLength::Histogram(text, path));
    return absl::OkStatus();
  }
  if (least > most) {
    return Refused("minfieldlength is " + std::to_string(least) +
                   ", more than fieldlength, which is " + std::to_string(most));
  }
  const auto from = static_cast<uint32_t>(least), to = static_cast<uint32_t>(most);
  if (kind == "uniform") {
    config.field_length = FieldLength::Uniform(from, to);
  } else if (kind == "zipfian") {
    config.field_length = FieldLength::OfZipfian(from, to);
  } else {
    return Refused(
        "property fieldlengthdistribution: expected constant, uniform, zipfian or histogram, "
        "found \"" +
        kind + "\"");
  }
  return absl::OkStatus();
}

absl::Status ReadFields(const Properties& properties, WorkloadConfig& config) {
  DUNLIN_ASSIGN_OR_RETURN(const int64_t count, Int(properties, "fieldcount", 10, 1, kMaxFields));
  const std::string prefix = properties.Get("fieldnameprefix", "field");
  for (int64_t i = 0; i < count; ++i) config.fields.push_back(prefix + std::to_string(i));
  DUNLIN_ASSIGN_OR_RETURN(config.read_all_fields, properties.GetBool("readallfields", true));
  DUNLIN_ASSIGN_OR_RETURN(config.write_all_fields, properties.GetBool("writeallfields", false));
  DUNLIN_ASSIGN_OR_RETURN(config.data_integrity, properties.GetBool("dataintegrity", false));
  DUNLIN_RETURN_IF_ERROR(ReadFieldLength(properties, config));
  if (config.MaxValueBytes() > static_cast<uint64_t>(kMaxInt)) {
    return Refused("fieldcount and fieldlength make records of " +
                   std::to_string(config.MaxValueBytes()) + " bytes; the most is " +
                   std::to_string(kMaxInt));
  }
  return absl::OkStatus();
}

absl::Status ReadActions(const Properties& properties, WorkloadConfig& config) {
  struct Named {
    Action action;
    const char* name;
    double otherwise;
  };
  constexpr Named kNamed[] = {{Action::kRead, "readproportion", 0.95},
                              {Action::kUpdate, "updateproportion", 0.05},
                              {Action::kInsert, "insertproportion", 0},
                              {Action::kScan, "scanproportion", 0},
                              {Action::kReadModifyWrite, "readmodifywriteproportion", 0}};
  for (const Named& each : kNamed) {
    DUNLIN_ASSIGN_OR_RETURN(const double share, properties.GetDouble(each.name, each.otherwise));
    if (share < 0) {
      return Refused("property " + std::string(each.name) + ": expected 0 or more, found " +
                     properties.Get(each.name, ""));
    }
    config.proportions[static_cast<size_t>(each.action)] = share;
  }
  if (std::accumulate(config.proportions.begin(), config.proportions.end(), 0.0) <= 0) {
    return Refused("all proportions (readproportion, updateproportion ...) are 0");
  }
  return absl::OkStatus();
}

absl::Status ReadRequests(const Properties& properties, WorkloadConfig& config) {
  const std::string kind = properties.Get("requestdistribution", "uniform");
  constexpr std::pair<std::string_view, RequestDistribution> kNames[] = {
      {"uniform", RequestDistribution::kUniform},
      {"zipfian", RequestDistribution::kZipfian},
      {"latest", RequestDistribution::kLatest},
      {"hotspot", RequestDistribution::kHotspot},
      {"sequential", RequestDistribution::kSequential},
      {"exponential", RequestDistribution::kExponential}};
  const auto found = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const auto& each) { return each.first == kind; });
  if (found == std::end(kNames)) {
    return Refused(
        "property requestdistribution: expected uniform, zipfian, latest, hotspot, sequential or "
        "exponential, found \"" +
        kind + "\"");
  }
  config.requests = found->second;
  DUNLIN_ASSIGN_OR_RETURN(config.hot_data_fraction,
                          Fraction(properties, "hotspotdatafraction", 0.2));
  DUNLIN_ASSIGN_OR_RETURN(config.hot_operation_fraction,
                          Fraction(properties, "hotspotopnfraction", 0.8));
  DUNLIN_ASSIGN_OR_RETURN(config.exponential_percentile,
                          properties.GetDouble("exponential.percentile", 95));
  DUNLIN_ASSIGN_OR_RETURN(config.exponential_fraction,
                          properties.GetDouble("exponential.frac", 0.8571428571));
  if (config.exponential_percentile <= 0 || config.exponential_percentile >= 100 ||
      config.exponential_fraction <= 0) {
    return Refused(
        "exponential.percentile has to be above 0 and below 100, and exponential.frac above 0");
  }
  return absl::OkStatus();
}

absl::Status ReadInserts(const Properties& properties, WorkloadConfig& config) {
  config.hashed_keys = properties.Get("insertorder", "hashed") == "hashed";
  DUNLIN_ASSIGN_OR_RETURN(const int64_t padding, Int(properties, "zeropadding", 1, 0, kMaxPadding));
  config.zero_padding = static_cast<uint32_t>(padding);
  DUNLIN_ASSIGN_OR_RETURN(config.insertion_retries,
                          Int(properties, "core_workload_insertion_retry_limit", 0, 0, kMaxInt));
  DUNLIN_ASSIGN_OR_RETURN(config.insertion_retry_seconds,
                          properties.GetDouble("core_workload_insertion_retry_interval", 3));
  if (config.insertion_retry_seconds < 0) {
    return Refused("core_workload_insertion_retry_interval must not be negative");
  }
  DUNLIN_ASSIGN_OR_RETURN(config.keep_going_on_error,
                          properties.GetBool("core_workload_insertion_keep_going_on_error", false));
  return absl::OkStatus();
}

}  // namespace

uint32_t WorkloadConfig::MaxKeyBytes() const {
  constexpr uint32_t kDigits = 20;
  return static_cast<uint32_t>(std::string_view("user").size()) + std::max(zero_padding, kDigits);
}

uint64_t WorkloadConfig::MaxValueBytes() const {
  if (fields.size() == 1) return field_length.most();
  uint64_t sum = 0;
  for (const std::string& field : fields)
    sum += PackedFieldBytes(field.size(), field_length.most());
  return sum;
}

absl::StatusOr<WorkloadConfig> ReadWorkload(const Properties& properties) {
  WorkloadConfig config;
  DUNLIN_RETURN_IF_ERROR(ReadClass(properties));
  DUNLIN_RETURN_IF_ERROR(ReadCounts(properties, config));
  DUNLIN_RETURN_IF_ERROR(ReadFields(properties, config));
  DUNLIN_RETURN_IF_ERROR(ReadActions(properties, config));
  DUNLIN_RETURN_IF_ERROR(ReadRequests(properties, config));
  DUNLIN_RETURN_IF_ERROR(ReadInserts(properties, config));
  DUNLIN_ASSIGN_OR_RETURN(const int64_t seed, properties.GetInt("kvbench.seed", 1));
  config.seed = static_cast<uint64_t>(seed);
  return config;
}

}  // namespace dunlin::kvbench
