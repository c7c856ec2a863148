#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "bench/kvbench/measure/points.h"
#include "bench/kvbench/output/exporter.h"
#include "bench/kvbench/output/output_options.h"
#include "bench/kvbench/output/point_report.h"
#include "bench/kvbench/output/report.h"
#include "common/base/read_file.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::kvbench {
namespace {

// Two in one millisecond, one in the next, one a second later.
Points Some(Keep keep) {
  Points points;
  points.Add(keep, 5000, 10'999, 20'000);
  points.Add(keep, 5000, 20'000, 20'000);
  points.Add(keep, 5001, 30'000, 40'000);
  points.Add(keep, 6000, 99'000, 99'000);
  return points;
}

template <typename Write>
std::string Text(Write write) {
  const auto exporter = MakeExporter("TextMeasurementsExporter");
  EXPECT_TRUE(exporter.ok());
  write(**exporter);
  return (*exporter)->Finish();
}

TEST(Points, OfOneMillisecondAreOneIfNotAllAreKept) {
  EXPECT_EQ(Some(Keep::kAll).all().size(), 4u);
  const Points together = Some(Keep::kMilliseconds);
  ASSERT_EQ(together.all().size(), 3u);
  EXPECT_EQ(together.all()[0].count, 2u);
  EXPECT_EQ(together.all()[0].call_micros, 30u);
  EXPECT_EQ(together.all()[0].intended_micros, 40u);
}

TEST(Points, OfSeveralThreadsAreMergedByTime) {
  Points merged = Some(Keep::kAll);
  Points other;
  other.Add(Keep::kAll, 4999, 1000, 1000);
  other.Add(Keep::kAll, 5001, 2000, 2000);
  other.Add(Keep::kAll, 7000, 3000, 3000);
  merged.Merge(other);
  merged.Merge(Points());
  std::string times;
  for (const Point& point : merged.all()) times += std::to_string(point.unix_millis) + " ";
  EXPECT_EQ(times, "4999 5000 5000 5001 5001 6000 7000 ");
  EXPECT_EQ(merged.left_out(), 0u);
  merged.Clear();
  EXPECT_TRUE(merged.all().empty());
}

TEST(RawLines, AreYcsbs) {
  EXPECT_EQ(RawLines("READ", Some(Keep::kAll), false),
            "READ latency raw data: op, timestamp(ms), latency(us)\n"
            "READ,5000,10\nREAD,5000,20\nREAD,5001,30\nREAD,6000,99\n");
  EXPECT_EQ(RawLines("Intended-READ", Some(Keep::kAll), true),
            "Intended-READ latency raw data: op, timestamp(ms), latency(us)\n"
            "Intended-READ,5000,20\nIntended-READ,5000,20\nIntended-READ,5001,40\n"
            "Intended-READ,6000,99\n");
}

TEST(RawSummary, IsYcsbs) {
  const auto summary = [](const Points& points, bool with_latencies) {
    return Text([&](Exporter& exporter) {
      WriteRawSummary("READ", points, false, with_latencies, exporter);
    });
  };
  EXPECT_EQ(summary(Some(Keep::kAll), true),
            "[READ], Total Operations, 4\n"
            "[READ], Below is a summary of latency in microseconds:, -1\n"
            "[READ], Average, 39.75\n[READ], Min, 10\n[READ], Max, 99\n"
            "[READ], p1, 10\n[READ], p5, 10\n[READ], p50, 30\n[READ], p90, 99\n"
            "[READ], p95, 99\n[READ], p99, 99\n[READ], p99.9, 99\n[READ], p99.99, 99\n");
  EXPECT_EQ(summary(Some(Keep::kAll), false), "[READ], Total Operations, 4\n");
  EXPECT_EQ(summary(Points(), true), "[READ], Total Operations, 0\n");
}

TEST(Series, IsOfUnitsSinceTheFirst) {
  const auto series = [](const Points& points, int64_t granularity) {
    return Text(
        [&](Exporter& exporter) { WriteSeries("READ", points, false, granularity, exporter); });
  };
  // The mean of an operation, not of milliseconds.
  EXPECT_EQ(series(Some(Keep::kMilliseconds), 500), "[READ], 0, 20.0\n[READ], 1000, 99.0\n");
  EXPECT_EQ(series(Some(Keep::kMilliseconds), 10'000), "[READ], 0, 39.75\n");
  EXPECT_EQ(series(Points(), 500), "[READ], 0, NaN\n");
}

RunOutcome Outcome(Keep keep) {
  RunOutcome outcome{MetricSet(true, 0, keep)};
  MetricSet first(true, 0, keep);
  first.Record(MetricId::kRead, 0, 16'000, 20'000);
  first.CountReturn(MetricId::kRead, 0);
  outcome.metrics.Merge(first);
  first.Reset();
  first.Record(MetricId::kRead, 0, 18'000, 18'000);
  first.CountReturn(MetricId::kRead, 0);
  outcome.metrics.Merge(first);
  return outcome;
}

std::string Report(const RunOutcome& outcome, const OutputOptions& options) {
  return Text([&](Exporter& exporter) { WriteRun(outcome, options, std::nullopt, exporter); });
}

TEST(Report, TimeSeries) {
  OutputOptions options;
  options.hdr_histogram = false;
  options.series = true;
  options.series_millis = 1'000'000'000;
  options.series_percentiles = {95, 99};
  const std::string text = Report(Outcome(options.keep()), options);
  EXPECT_NE(text.find("[READ], Operations, 2\n[READ], AverageLatency(us), 17.0\n"
                      "[READ], MinLatency(us), 16\n[READ], MaxLatency(us), 18\n"
                      "[READ], 95thPercentileLatency(us), 18\n"
                      "[READ], 99thPercentileLatency(us), 18\n"
                      "[READ], Return=OK, 2\n[READ], 0, 17.0\n"),
            std::string::npos)
      << text;
}

TEST(Report, RawBesideTheHistogram) {
  const dunlin::testing::TemporaryFolder folder;
  OutputOptions options;
  options.percentiles = {50};
  options.raw = true;
  options.raw_file = folder.path() + "/raw";
  options.latency = OutputOptions::Latency::kBoth;
  const RunOutcome outcome = Outcome(options.keep());
  const std::string text = Report(outcome, options);
  EXPECT_NE(text.find("[HdrREAD], Return=OK, 2\n"), std::string::npos);
  EXPECT_NE(text.find("[RawREAD], Total Operations, 2\n"), std::string::npos);
  EXPECT_NE(text.find("[RawREAD], Average, 17.0\n"), std::string::npos);
  EXPECT_NE(text.find("[RawIntended-READ], Average, 19.0\n"), std::string::npos);
  EXPECT_EQ(text.find("[RawREAD], Return="), std::string::npos);

  // The file is appended to.
  ASSERT_TRUE(WriteRaw(outcome, options).ok());
  ASSERT_TRUE(WriteRaw(outcome, options).ok());
  const auto lines = ReadWholeFile(options.raw_file, 1 << 20);
  ASSERT_TRUE(lines.ok());
  size_t headers = 0;
  for (size_t at = 0; (at = lines->find("RawREAD latency raw data: ", at)) != std::string::npos;
       ++at) {
    ++headers;
  }
  EXPECT_EQ(headers, 2u);
  options.raw_file = "/nonexistent/folder/raw";
  EXPECT_NE(WriteRaw(outcome, options).message().find("/nonexistent/folder/raw"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace dunlin::kvbench
