#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dunlin::kvbench {

// How the report is written down: a line, or an object, a figure.
class Exporter {
 public:
  virtual ~Exporter() = default;
  void Write(std::string_view metric, std::string_view measurement, uint64_t value) {
    Add(metric, measurement, std::to_string(value));
  }
  void Write(std::string_view metric, std::string_view measurement, int64_t value) {
    Add(metric, measurement, std::to_string(value));
  }
  void Write(std::string_view metric, std::string_view measurement, double value);
  // All that was written. Nothing may be written afterwards.
  virtual std::string Finish() = 0;

 protected:
  virtual void Add(std::string_view metric, std::string_view measurement,
                   const std::string& number) = 0;
};

// By the class name that YCSB's property `exporter` has, with any package before it:
// TextMeasurementsExporter, JSONMeasurementsExporter or JSONArrayMeasurementsExporter.
absl::StatusOr<std::unique_ptr<Exporter>> MakeExporter(std::string_view class_name);

}  // namespace dunlin::kvbench
