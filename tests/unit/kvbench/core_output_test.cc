#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "bench/kvbench/output/exporter.h"
#include "bench/kvbench/output/hdr_encoding.h"
#include "bench/kvbench/output/hdr_log.h"
#include "bench/kvbench/output/java_double.h"
#include "bench/kvbench/output/output_options.h"
#include "bench/kvbench/output/report.h"
#include "bench/kvbench/output/status_line.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::kvbench {
namespace {

TEST(JavaDouble, WritesAsJavaDoes) {
  EXPECT_EQ(JavaDouble(0), "0.0");
  EXPECT_EQ(JavaDouble(-0.0), "-0.0");
  EXPECT_EQ(JavaDouble(1), "1.0");
  EXPECT_EQ(JavaDouble(16.25), "16.25");
  EXPECT_EQ(JavaDouble(98.91196834817013), "98.91196834817013");
  EXPECT_EQ(JavaDouble(-123456.5), "-123456.5");
  EXPECT_EQ(JavaDouble(9999999), "9999999.0");
  EXPECT_EQ(JavaDouble(1e7), "1.0E7");
  EXPECT_EQ(JavaDouble(12345678.9), "1.23456789E7");
  EXPECT_EQ(JavaDouble(0.001), "0.001");
  EXPECT_EQ(JavaDouble(0.0125), "0.0125");
  EXPECT_EQ(JavaDouble(1e-4), "1.0E-4");
  EXPECT_EQ(JavaDouble(1.5e300), "1.5E300");
  EXPECT_EQ(JavaDouble(std::nan("")), "NaN");
  EXPECT_EQ(JavaDouble(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(JavaDouble(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(PercentileName, IsYcsbsOrdinal) {
  EXPECT_EQ(PercentileName(50), "50th");
  EXPECT_EQ(PercentileName(1), "1st");
  EXPECT_EQ(PercentileName(2), "2nd");
  EXPECT_EQ(PercentileName(93), "93rd");
  EXPECT_EQ(PercentileName(11), "11th");
  EXPECT_EQ(PercentileName(12), "12th");
  EXPECT_EQ(PercentileName(13), "13th");
  EXPECT_EQ(PercentileName(91), "91st");
  EXPECT_EQ(PercentileName(99.9), "99.9");
  EXPECT_EQ(PercentileName(100), "100th");
}

TEST(RemainingText, IsYcsbs) {
  EXPECT_EQ(RemainingText(0), "0 seconds ");
  EXPECT_EQ(RemainingText(1), "1 second ");
  EXPECT_EQ(RemainingText(59), "59 seconds ");
  EXPECT_EQ(RemainingText(60), "1 minute ");
  EXPECT_EQ(RemainingText(3725), "1 hour 2 minutes ");
  EXPECT_EQ(RemainingText(90'000), "1 day 1 hour ");
}

OutputOptions Options() {
  OutputOptions options;
  options.percentiles = {50, 95, 99};
  return options;
}

RunOutcome Outcome(bool scheduled) {
  RunOutcome outcome{MetricSet(scheduled, false)};
  outcome.seconds = 10.11;
  outcome.operations = 1000;
  for (int i = 0; i < 100; ++i) {
    outcome.metrics.Record(MetricId::kRead, 0, 16'250, 20'000);
    outcome.metrics.CountReturn(MetricId::kRead, 0);
  }
  outcome.metrics.Record(MetricId::kRead, 1, 2'000'000, 2'000'000);
  outcome.metrics.CountReturn(MetricId::kRead, 1);
  outcome.metrics.Record(MetricId::kCleanup, 0, 7000, 7000);
  return outcome;
}

std::string Text(const RunOutcome& outcome, const OutputOptions& options) {
  const auto exporter = MakeExporter("site.ycsb.measurements.exporter.TextMeasurementsExporter");
  EXPECT_TRUE(exporter.ok());
  WriteRun(outcome, options, std::nullopt, **exporter);
  return (*exporter)->Finish();
}

TEST(Report, IsYcsbs) {
  OutputOptions options = Options();
  options.nanoseconds = false;
  EXPECT_EQ(Text(Outcome(false), options),
            "[OVERALL], RunTime(ms), 10110\n"
            "[OVERALL], Throughput(ops/sec), 98.91196834817013\n"
            "[READ], Operations, 100\n"
            "[READ], AverageLatency(us), 16.25\n"
            "[READ], MinLatency(us), 16\n"
            "[READ], MaxLatency(us), 16\n"
            "[READ], 50thPercentileLatency(us), 16\n"
            "[READ], 95thPercentileLatency(us), 16\n"
            "[READ], 99thPercentileLatency(us), 16\n"
            "[READ], Return=OK, 100\n"
            "[READ], Return=NOT_FOUND, 1\n"
            "[READ-FAILED], Operations, 1\n"
            "[READ-FAILED], AverageLatency(us), 2000.0\n"
            "[READ-FAILED], MinLatency(us), 2000\n"
            "[READ-FAILED], MaxLatency(us), 2000\n"
            "[READ-FAILED], 50thPercentileLatency(us), 2000\n"
            "[READ-FAILED], 95thPercentileLatency(us), 2000\n"
            "[READ-FAILED], 99thPercentileLatency(us), 2000\n"
            "[CLEANUP], Operations, 1\n"
            "[CLEANUP], AverageLatency(us), 7.0\n"
            "[CLEANUP], MinLatency(us), 7\n"
            "[CLEANUP], MaxLatency(us), 7\n"
            "[CLEANUP], 50thPercentileLatency(us), 7\n"
            "[CLEANUP], 95thPercentileLatency(us), 7\n"
            "[CLEANUP], 99thPercentileLatency(us), 7\n"
            "[CLIENT], CpuPerMillionOperations(us), 0.0\n");
}

TEST(Report, NanosecondsHaveLinesOfTheirOwn) {
  const std::string text = Text(Outcome(false), Options());
  EXPECT_NE(text.find("[READ], 99thPercentileLatency(ns), 16250\n"), std::string::npos);
  EXPECT_NE(text.find("[READ], MinLatency(ns), 16250\n"), std::string::npos);
}

TEST(Report, IntendedLatencyBesideTheCalls) {
  OutputOptions options = Options();
  options.latency = OutputOptions::Latency::kBoth;
  const std::string both = Text(Outcome(true), options);
  EXPECT_NE(both.find("[READ], 99thPercentileLatency(us), 16\n"), std::string::npos);
  EXPECT_NE(both.find("[Intended-READ], 99thPercentileLatency(us), 20\n"), std::string::npos);
  EXPECT_EQ(both.find("[Intended-READ], Return="), std::string::npos);
  EXPECT_EQ(both.find("[Intended-CLEANUP]"), std::string::npos);
  options.latency = OutputOptions::Latency::kIntended;
  const std::string intended = Text(Outcome(true), options);
  EXPECT_NE(intended.find("[READ], 99thPercentileLatency(us), 20\n"), std::string::npos);
  EXPECT_EQ(intended.find("[Intended-READ]"), std::string::npos);
}

TEST(Report, ThePlainHistogram) {
  OutputOptions options = Options();
  options.hdr_histogram = false;
  options.plain_histogram = true;
  options.verbose = true;
  options.buckets = 2;
  const std::string text = Text(Outcome(false), options);
  EXPECT_NE(text.find("[READ], 95thPercentileLatency(us), 0\n"), std::string::npos);
  EXPECT_NE(text.find("[READ], 0, 100\n[READ], 1, 0\n[READ], >2, 0\n"), std::string::npos);
  EXPECT_NE(text.find("[READ-FAILED], >2, 1\n"), std::string::npos);
  EXPECT_NE(text.find("[READ], LatencyVariance(us), "), std::string::npos);
}

TEST(Report, WhatOnlyFailedHasNoLatencyButReturns) {
  RunOutcome outcome{MetricSet(false)};
  outcome.seconds = 1;
  outcome.operations = 1;
  outcome.metrics.Record(MetricId::kScan, 4, 10, 10);
  outcome.metrics.CountReturn(MetricId::kScan, 4);
  const std::string text = Text(outcome, Options());
  EXPECT_NE(text.find("[SCAN], Operations, 0\n"), std::string::npos);
  EXPECT_NE(text.find("[SCAN], Return=NOT_IMPLEMENTED, 1\n"), std::string::npos);
  EXPECT_NE(text.find("[SCAN-FAILED], Operations, 1\n"), std::string::npos);
}

TEST(Exporter, JsonIsYcsbs) {
  const auto one = MakeExporter("com.yahoo.ycsb.measurements.exporter.JSONMeasurementsExporter");
  ASSERT_TRUE(one.ok());
  (*one)->Write("OVERALL", "RunTime(ms)", uint64_t{10});
  (*one)->Write("READ", "Average\"", 0.5);
  EXPECT_EQ((*one)->Finish(),
            "{\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"RunTime(ms)\",\n"
            "  \"value\" : 10\n} {\n  \"metric\" : \"READ\",\n"
            "  \"measurement\" : \"Average\\\"\",\n  \"value\" : 0.5\n}\n");
  const auto array = MakeExporter("JSONArrayMeasurementsExporter");
  ASSERT_TRUE(array.ok());
  (*array)->Write("A", "b", uint64_t{1});
  (*array)->Write("A", "c", uint64_t{2});
  EXPECT_EQ((*array)->Finish(),
            "[ {\n  \"metric\" : \"A\",\n  \"measurement\" : \"b\",\n  \"value\" : 1\n}, "
            "{\n  \"metric\" : \"A\",\n  \"measurement\" : \"c\",\n  \"value\" : 2\n} ]\n");
  EXPECT_FALSE(MakeExporter("site.ycsb.XmlExporter").ok());
}

TEST(StatusLine, IsYcsbs) {
  MetricSet metrics(false);
  metrics.Record(MetricId::kRead, 0, 12'345, 0);
  const IntervalView view{.end_seconds = 10.2,
                          .seconds = 10,
                          .operations = 5005,
                          .operations_so_far = 5005,
                          .metrics = metrics};
  const std::string line =
      StatusLine::YcsbLine({.label = "x ", .operations = 10'010}, view, 1'700'000'000'123'000'000);
  EXPECT_EQ(line.substr(0, 4), "x 20");
  EXPECT_NE(line.find(":123 10 sec: 5005 operations; 500.5 current ops/sec; est completion in 11 "
                      "seconds [READ: Count=1, Max=12, Min=12, Avg=12.35, 50=12, 90=12, 99=12, "
                      "99.9=12, 99.99=12] "),
            std::string::npos)
      << line;
}

TEST(StatusLine, TheBarShowsHowFarItIs) {
  const MetricSet metrics(false);
  const IntervalView view{.end_seconds = 5,
                          .seconds = 1,
                          .operations = 1000,
                          .operations_so_far = 5000,
                          .metrics = metrics};
  const std::string bar = StatusLine::BarLine({.operations = 10'000}, view);
  EXPECT_NE(bar.find("[############............] 50 %"), std::string::npos) << bar;
  EXPECT_NE(bar.find("5 seconds left"), std::string::npos) << bar;
  EXPECT_EQ(StatusLine::BarLine({}, view).find('%'), std::string::npos);
}

// Each the largest value of its step, which is then the value that is encoded.
Histogram Some() {
  Histogram histogram;
  for (const uint64_t value : {0ull, 1ull, 1ull, 5ull, 1000ull, 2047ull, 2051ull, 5007ull,
                               123519ull, 1000341503ull, 500363689983ull}) {
    histogram.Record(value);
  }
  for (int i = 0; i < 300; ++i) histogram.Record(70'123'519);
  return histogram;
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// The counts are as another implementation (hdr-histogram-js 3.0.1) encodes them.
TEST(HdrEncoding, IsTheFormat) {
  EXPECT_EQ(Hex(EncodeHdrPlain(Some())),
            "1c8493130000001e00000000000000030000000000000001000003ffffffffff3ff0000000000000"
            "02040502c30f02ab10020002c11302c94a02c59201d804893d02a58f0102");
}

TEST(HdrEncoding, IsBase64OfTheCompressedFormat) {
  const auto text = EncodeHdr(Some());
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->substr(0, 6), "HISTFA");
}

TEST(HdrEncoding, TakesAnEmptyOne) {
  EXPECT_EQ(EncodeHdrPlain(Histogram()).size(), 40u);
  EXPECT_TRUE(EncodeHdr(Histogram()).ok());
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(HdrLog, WritesAFileAMetric) {
  const dunlin::testing::TemporaryFolder folder;
  HdrLog log(folder.path() + "/", 2, true, MetricSet(true));
  MetricSet metrics(true);
  metrics.Record(MetricId::kRead, 0, 5'000'000, 6'000'000);
  for (const double end : {1.0, 2.0, 3.0}) {
    log.OnInterval({.end_seconds = end, .seconds = 1, .metrics = metrics});
  }
  ASSERT_TRUE(log.Finish().ok());
  const std::string text = Contents(folder.path() + "/READ.hdr");
  EXPECT_NE(text.find("#[Histogram log format version 1.3]\n"), std::string::npos);
  EXPECT_NE(text.find("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
                      "\"Interval_Compressed_Histogram\"\n"),
            std::string::npos);
  EXPECT_NE(text.find("\n0.000,2.000,5.000,HISTFA"), std::string::npos) << text;
  EXPECT_NE(text.find("\n2.000,1.000,5.000,HISTFA"), std::string::npos) << text;
  EXPECT_NE(Contents(folder.path() + "/Intended-READ.hdr").find("0.000,2.000,6.000,HISTFA"),
            std::string::npos);
}

TEST(HdrLog, SaysWhereItCannotWrite) {
  HdrLog log("/nonexistent/folder/", 1, false, MetricSet(false));
  MetricSet metrics(false);
  metrics.Record(MetricId::kRead, 0, 1, 1);
  log.OnInterval({.end_seconds = 1, .seconds = 1, .metrics = metrics});
  const absl::Status status = log.Finish();
  EXPECT_NE(std::string(status.message()).find("/nonexistent/folder/READ.hdr"), std::string::npos);
}

absl::StatusOr<OutputOptions> Read(std::string_view text, double target) {
  Properties properties;
  EXPECT_TRUE(properties.AddText(text, "test").ok());
  RunPlan plan;
  plan.target = target;
  return ReadOutputOptions(properties, plan);
}

TEST(OutputOptions, BothLatenciesIfThereIsASchedule) {
  EXPECT_EQ(Read("", 0)->latency, OutputOptions::Latency::kCall);
  EXPECT_EQ(Read("", 100)->latency, OutputOptions::Latency::kBoth);
  EXPECT_EQ(Read("measurement.interval=op", 100)->latency, OutputOptions::Latency::kCall);
  EXPECT_EQ(Read("measurement.interval=intended", 0)->latency, OutputOptions::Latency::kIntended);
}

TEST(OutputOptions, ReadsPercentilesAndTypes) {
  EXPECT_EQ(Read("hdrhistogram.percentiles=50, 99.9 ,100", 0)->percentiles,
            (std::vector<double>{50, 99.9, 100}));
  EXPECT_TRUE(Read("measurementtype=hdrhistogram+histogram", 0)->plain_histogram);
  EXPECT_FALSE(Read("measurementtype=histogram", 0)->hdr_histogram);
  EXPECT_EQ(Read("measurementtype=raw", 0)->keep(), Keep::kAll);
  EXPECT_TRUE(Read("measurementtype=hdrhistogram+raw", 0)->hdr_histogram);
  EXPECT_EQ(Read("measurementtype=timeseries", 0)->keep(), Keep::kMilliseconds);
  EXPECT_EQ(Read("measurementtype=hdrhistogram", 0)->keep(), Keep::kNone);
  for (const char* text :
       {"hdrhistogram.percentiles=", "hdrhistogram.percentiles=50;99",
        "hdrhistogram.percentiles=101", "hdrhistogram.percentiles=nan", "measurementtype=rawest",
        "measurement.interval=sometimes", "histogram.buckets=0", "status.interval=0"}) {
    EXPECT_FALSE(Read(text, 0).ok()) << text;
  }
}

}  // namespace
}  // namespace dunlin::kvbench
