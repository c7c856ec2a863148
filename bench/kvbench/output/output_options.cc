#include "bench/kvbench/output/output_options.h"

#include <charconv>
#include <string_view>

#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

absl::Status Refused(std::string_view name, std::string_view expected, std::string_view found) {
  std::string message = "property " + std::string(name) + ": expected " + std::string(expected) +
                        ", found \"" + std::string(found) + "\"";
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

absl::Status ReadType(const Properties& properties, OutputOptions& options) {
  const std::string type = properties.Get("measurementtype", "hdrhistogram");
  options.hdr_histogram = type.starts_with("hdrhistogram");
  options.plain_histogram = type == "histogram" || type == "hdrhistogram+histogram";
  options.raw = type == "raw" || type == "hdrhistogram+raw";
  options.series = type == "timeseries";
  if (type == "hdrhistogram" || options.plain_histogram || options.raw || options.series) {
    return absl::OkStatus();
  }
  return Refused("measurementtype",
                 "hdrhistogram, histogram, raw, timeseries, hdrhistogram+histogram or "
                 "hdrhistogram+raw",
                 type);
}

absl::Status ReadPointOptions(const Properties& properties, OutputOptions& options) {
  options.raw_file = properties.Get("measurement.raw.output_file", "");
  DUNLIN_ASSIGN_OR_RETURN(const bool no_summary,
                          properties.GetBool("measurement.raw.no_summary", false));
  options.raw_summary = !no_summary;
  DUNLIN_ASSIGN_OR_RETURN(options.series_millis, properties.GetInt("timeseries.granularity", 1000));
  if (options.series_millis < 1) {
    return Refused("timeseries.granularity", "milliseconds, at least 1",
                   properties.Get("timeseries.granularity", ""));
  }
  return absl::OkStatus();
}

absl::Status ReadLatency(const Properties& properties, const RunPlan& plan,
                         OutputOptions& options) {
  // With a schedule the time that operations waited for their turn belongs to the picture.
  const std::string kind = properties.Get("measurement.interval", plan.target > 0 ? "both" : "op");
  if (kind == "op") {
    options.latency = OutputOptions::Latency::kCall;
  } else if (kind == "intended") {
    options.latency = OutputOptions::Latency::kIntended;
  } else if (kind == "both") {
    options.latency = OutputOptions::Latency::kBoth;
  } else {
    return Refused("measurement.interval", "op, intended or both", kind);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> ReadPercentiles(const Properties& properties,
                                                    const std::string& name,
                                                    const std::string& otherwise) {
  std::vector<double> percentiles;
  const std::string text = properties.Get(name, otherwise);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at < end && *at == ' ') ++at;
    double percent = 0;
    const auto [behind, error] = std::from_chars(at, end, percent);
    if (error != std::errc() || !(percent >= 0 && percent <= 100)) {
      return Refused(name, "numbers from 0 to 100 with commas between them", text);
    }
    percentiles.push_back(percent);
    at = behind;
    while (at < end && *at == ' ') ++at;
    if (at == end) return percentiles;
    if (*at++ != ',') {
      return Refused(name, "numbers from 0 to 100 with commas between them", text);
    }
  }
}

}  // namespace

absl::StatusOr<OutputOptions> ReadOutputOptions(const Properties& properties, const RunPlan& plan) {
  OutputOptions options;
  DUNLIN_RETURN_IF_ERROR(ReadType(properties, options));
  DUNLIN_RETURN_IF_ERROR(ReadLatency(properties, plan, options));
  DUNLIN_RETURN_IF_ERROR(ReadPointOptions(properties, options));
  DUNLIN_ASSIGN_OR_RETURN(options.percentiles,
                          ReadPercentiles(properties, "hdrhistogram.percentiles", "50,95,99"));
  DUNLIN_ASSIGN_OR_RETURN(options.series_percentiles,
                          ReadPercentiles(properties, "timeseries.percentiles", "95,99"));
  DUNLIN_ASSIGN_OR_RETURN(options.verbose,
                          properties.GetBool("measurement.histogram.verbose", false));
  DUNLIN_ASSIGN_OR_RETURN(const int64_t buckets, properties.GetInt("histogram.buckets", 1000));
  if (buckets < 1 || buckets > 1'000'000) {
    return Refused("histogram.buckets", "a number from 1 to 1000000",
                   properties.Get("histogram.buckets", ""));
  }
  options.buckets = static_cast<size_t>(buckets);
  DUNLIN_ASSIGN_OR_RETURN(options.nanoseconds, properties.GetBool("kvbench.nanos", true));
  options.exporter = properties.Get("exporter", "TextMeasurementsExporter");
  options.export_file = properties.Get("exportfile", "");
  DUNLIN_ASSIGN_OR_RETURN(options.hdr_files, properties.GetBool("hdrhistogram.fileoutput", false));
  options.hdr_path = properties.Get("hdrhistogram.output.path", "");
  DUNLIN_ASSIGN_OR_RETURN(options.status, properties.GetBool("status", false));
  DUNLIN_ASSIGN_OR_RETURN(options.status_seconds, properties.GetDouble("status.interval", 10));
  if (options.status_seconds <= 0) {
    return Refused("status.interval", "seconds above 0", properties.Get("status.interval", ""));
  }
  options.label = properties.Get("label", "");
  return options;
}

}  // namespace dunlin::kvbench
