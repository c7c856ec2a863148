#include "bench/kvbench/output/exporter.h"

#include <utility>

#include "bench/kvbench/output/java_double.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvbench {
namespace {

class TextExporter final : public Exporter {
 public:
  std::string Finish() override { return std::move(text_); }

 private:
  void Add(std::string_view metric, std::string_view measurement,
           const std::string& number) override {
    text_ += "[" + std::string(metric) + "], " + std::string(measurement) + ", " + number + "\n";
  }

  std::string text_;
};

// Objects one after the other, or in an array, as Jackson's pretty printer writes them.
class JsonExporter final : public Exporter {
 public:
  explicit JsonExporter(bool array) : array_(array) {}

  std::string Finish() override {
    if (array_) return "[ " + text_ + " ]\n";
    return text_ + "\n";
  }

 private:
  void Add(std::string_view metric, std::string_view measurement,
           const std::string& number) override {
    if (!text_.empty()) text_ += array_ ? ", " : " ";
    // JSON has no number for these.
    const bool finite = number.find_first_of("IN") == std::string::npos;
    text_ += "{\n  \"metric\" : \"" + EscapeJson(metric) + "\",\n  \"measurement\" : \"" +
             EscapeJson(measurement) +
             "\",\n  \"value\" : " + (finite ? number : "\"" + number + "\"") + "\n}";
  }

  bool array_;
  std::string text_;
};

}  // namespace

void Exporter::Write(std::string_view metric, std::string_view measurement, double value) {
  Add(metric, measurement, JavaDouble(value));
}

absl::StatusOr<std::unique_ptr<Exporter>> MakeExporter(std::string_view class_name) {
  const size_t dot = class_name.rfind('.');
  const std::string_view name =
      dot == std::string_view::npos ? class_name : class_name.substr(dot + 1);
  if (name == "TextMeasurementsExporter") return std::make_unique<TextExporter>();
  if (name == "JSONMeasurementsExporter") return std::make_unique<JsonExporter>(false);
  if (name == "JSONArrayMeasurementsExporter") return std::make_unique<JsonExporter>(true);
  std::string message =
      "property exporter: expected TextMeasurementsExporter, JSONMeasurementsExporter or "
      "JSONArrayMeasurementsExporter, found \"" +
      std::string(class_name) + "\"";
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

}  // namespace dunlin::kvbench
