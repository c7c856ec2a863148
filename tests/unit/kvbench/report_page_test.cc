#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "bench/kvbench/report/report.h"
#include "bench/kvbench/report/results_file.h"
#include "common/base/status.h"
#include "tests/unit/kvbench/report_synthetic.h"

namespace dunlin::kvbench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kHostile = "</script><script>alert(1)</script><!--<img src=x onerror=a>";

std::string Render(const std::vector<Results>& runs, const ReportOptions& options = {}) {
  const auto page = RenderReport(runs, options);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.ok() ? *page : "";
}

// What is between the tags of the data's element, as the browser's JSON.parse gets it.
std::string DataIn(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const size_t begin = page.find(open);
  if (begin == std::string::npos) return "";
  const size_t end = page.find("</script>", begin);
  return page.substr(begin + open.size(), end - begin - open.size());
}

// The runs that a page contains, read again.
std::vector<Results> RunsIn(const std::string& page) {
  google::protobuf::Struct data;
  const auto parsed = google::protobuf::util::JsonStringToMessage(DataIn(page), &data);
  EXPECT_TRUE(parsed.ok()) << parsed.ToString();
  std::vector<Results> runs;
  for (const auto& value : data.fields().at("runs").list_value().values()) {
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(value, &json).ok());
    const auto run = ParseResults(json, "page");
    EXPECT_TRUE(run.ok()) << run.status();
    if (run.ok()) runs.push_back(*run);
  }
  return runs;
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ReportPageTest, HoldsTheRunsAsTheyWere) {
  const std::vector<Results> runs = SynthesizeMany(7);
  const std::vector<Results> found = RunsIn(Render(runs));
  ASSERT_EQ(found.size(), runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(found[i], runs[i])) << i;
  }
}

TEST(ReportPageTest, NeedsNothingFromElsewhere) {
  const std::string page = Render(SynthesizeMany(3));
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(<(link|img|iframe|object)\b)")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(\ssrc\s*=)")));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(ReportPageTest, FillsEveryPlaceOnce) {
  const std::string page = Render(SynthesizeMany(1), {.title = "A title", .baseline = "near"});
  for (const char* place : {"%TITLE%", "%DATA%", "%STYLE%", "%SCRIPT%"}) {
    EXPECT_THAT(page, Not(HasSubstr(place)));
  }
  EXPECT_THAT(page, HasSubstr("<title>A title</title>"));
  EXPECT_THAT(page, HasSubstr("<h1>A title</h1>"));
  EXPECT_THAT(DataIn(page), HasSubstr(R"("baseline":"near")"));
}

TEST(ReportPageTest, WhatLooksLikeAPlaceIsLeftAlone) {
  Results run = Synthesize({.label = "%DATA% %TITLE%"});
  const std::string page = Render({run}, {.title = "%DATA% %STYLE%"});
  EXPECT_THAT(page, HasSubstr("<title>%DATA% %STYLE%</title>"));
  ASSERT_EQ(RunsIn(page).size(), 1u);
  EXPECT_EQ(RunsIn(page)[0].label(), "%DATA% %TITLE%");
}

TEST(ReportPageTest, HostileTextStaysText) {
  Results run = Synthesize({.label = std::string(kHostile)});
  run.set_store(std::string(kHostile));
  run.set_workload(std::string(kHostile));
  run.add_remarks(std::string(kHostile));
  run.mutable_host()->set_kernel(std::string(kHostile));
  run.mutable_metrics(0)->set_name(std::string(kHostile));
  (*run.mutable_metrics(0)->mutable_returns())[std::string(kHostile)] = 1;
  (*run.mutable_properties())[std::string(kHostile)] = kHostile;
  const std::string page =
      Render({run}, {.title = std::string(kHostile), .baseline = std::string(kHostile)});
  const std::string plain = Render(SynthesizeMany(1));
  EXPECT_EQ(CountOf(page, "<script"), CountOf(plain, "<script"));
  EXPECT_EQ(CountOf(page, "</script"), CountOf(plain, "</script"));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  ASSERT_EQ(RunsIn(page).size(), 1u);
  EXPECT_EQ(RunsIn(page)[0].label(), kHostile);
  EXPECT_EQ(RunsIn(page)[0].properties().at(std::string(kHostile)), kHostile);
}

TEST(ReportPageTest, TextThatIsNotUtf8DoesNoHarm) {
  Results run = Synthesize({});
  run.set_label("a\xff\xfe\xc3(b");
  const std::vector<Results> found = RunsIn(Render({run}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].label(), ::testing::StartsWith("a"));
  EXPECT_THAT(found[0].label(), ::testing::EndsWith("b"));
}

TEST(ReportPageTest, TakesRunsWithNextToNothingInThem) {
  Results empty;
  empty.set_format(1);
  Results no_latency = Synthesize({});
  no_latency.mutable_metrics(0)->clear_latency();
  Results one_sample = Synthesize({.steps = 1, .intervals = 1});
  EXPECT_EQ(RunsIn(Render({empty})).size(), 1u);
  EXPECT_EQ(RunsIn(Render({empty, no_latency, one_sample})).size(), 3u);
}

TEST(ReportPageTest, TakesHugeAndMeaninglessNumbers) {
  Results run = Synthesize({});
  run.set_operations(std::numeric_limits<uint64_t>::max());
  run.set_operations_per_second(std::numeric_limits<double>::max());
  run.set_seconds(std::numeric_limits<double>::infinity());
  run.mutable_cost()->set_driver_nanos(std::numeric_limits<double>::quiet_NaN());
  const std::vector<Results> found = RunsIn(Render({run}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].operations(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(found[0].operations_per_second(), std::numeric_limits<double>::max());
}

TEST(ReportPageTest, SizeIsBounded) {
  EXPECT_LT(Render(SynthesizeMany(1)).size(), size_t{160} << 10);
  const std::vector<Results> runs(100,
                                  Synthesize({.target = 10, .steps = 5000, .intervals = 1000}));
  const size_t size = Render(runs).size();
  EXPECT_GT(size, size_t{2} << 20);
  EXPECT_LT(size, size_t{14} << 20);
}

TEST(ReportPageTest, RefusesNothingAndTooMuch) {
  const auto none = RenderReport({}, {});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<Results> many(2001);
  const auto too_many = RenderReport(many, {});
  EXPECT_EQ(too_many.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FromAbsl(too_many.status().message()), HasSubstr("at most 2000"));
}

class ReportFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "report_test_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string Contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
};

TEST_F(ReportFileTest, ReplacesTheFileAndLeavesNothingElse) {
  const std::filesystem::path path = folder_ / "page.html";
  std::ofstream(path) << "old";
  const std::vector<Results> runs = SynthesizeMany(2);
  const absl::Status written = WriteReport(runs, path, {});
  ASSERT_TRUE(written.ok()) << written;
  const std::string page = Contents(path);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(RunsIn(page).size(), 2u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(ReportFileTest, NamesTheFileThatCanNotBeWritten) {
  const absl::Status written =
      WriteReport(SynthesizeMany(1), folder_ / "missing" / "page.html", {});
  EXPECT_EQ(written.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(FromAbsl(written.message()), HasSubstr("missing/page.html"));
}

TEST_F(ReportFileTest, AFullDiskIsAnError) {
  const absl::Status written = WriteReport(SynthesizeMany(1), "/dev/full", {});
  EXPECT_FALSE(written.ok());
  EXPECT_THAT(FromAbsl(written.message()), HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace dunlin::kvbench
