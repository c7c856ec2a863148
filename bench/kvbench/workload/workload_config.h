#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/kvbench/generators/field_length.h"
#include "bench/kvbench/properties.h"
#include "bench/kvbench/workload/values.h"

namespace dunlin::kvbench {

enum class Action : uint8_t { kRead, kUpdate, kInsert, kScan, kReadModifyWrite };
inline constexpr size_t kActions = 5;

enum class RequestDistribution : uint8_t {
  kUniform,
  kZipfian,
  kLatest,
  kHotspot,
  kSequential,
  kExponential,
};

// What YCSB's CoreWorkload reads from its properties, checked. The names are YCSB's.
struct WorkloadConfig {
  int64_t record_count = 0;
  int64_t operation_count = 0;  // 0: no end
  int64_t insert_start = 0;
  int64_t insert_count = 0;  // of the key space: record_count - insert_start unless told otherwise
  int64_t load_count = 0;    // records that the load phase inserts

  std::vector<std::string> fields;  // their names
  FieldLength field_length = FieldLength::Constant(100);
  bool read_all_fields = true;
  bool write_all_fields = false;
  bool data_integrity = false;

  std::array<double, kActions> proportions{};  // by Action; with a positive sum
  RequestDistribution requests = RequestDistribution::kUniform;
  double hot_data_fraction = 0, hot_operation_fraction = 0;
  double exponential_percentile = 0, exponential_fraction = 0;

  bool hashed_keys = true;
  uint32_t zero_padding = 1;

  int64_t insertion_retries = 0;
  double insertion_retry_seconds = 3;  // times a number from 0.8 to 1.2
  bool keep_going_on_error = false;

  uint64_t seed = 0;

  // The longest that a key may become, in bytes.
  uint32_t MaxKeyBytes() const;
  // What WriteKey() needs.
  uint32_t KeyRoom() const { return MaxKeyBytes() + kKeySlack; }
  // The longest that a record's value may become: one field's bytes, or all fields packed.
  uint64_t MaxValueBytes() const;
  // Whether an update changes a part of the record only, so that it must be read first.
  bool PartialUpdates() const { return fields.size() > 1 && !write_all_fields; }
  bool has(Action action) const { return proportions[static_cast<size_t>(action)] > 0; }
};

// InvalidArgument says which property, what was found and what is expected; NotFound and the like:
// `fieldlengthhistogram` can't be read.
absl::StatusOr<WorkloadConfig> ReadWorkload(const Properties& properties);

}  // namespace dunlin::kvbench
