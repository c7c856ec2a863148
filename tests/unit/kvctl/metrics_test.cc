#include "client/kvctl/commands/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ServerStatus Full() {
  ServerStatus status;
  status.release = "1.2.3";
  status.state = "serving \"well\"\\\n";
  status.uptime_ms = 1500;
  status.items = uint64_t{1} << 53 | 1;
  status.classes = {{1, 64, 7, 3, 640}, {30, 0, 2, 0, 8192}};
  ServerSnapshots& snapshots = status.snapshots.emplace();
  snapshots.last_id = 4;
  snapshots.last_finished_unix_ms = 10'000;
  snapshots.at_risk_ms = 2500;
  snapshots.failed = 3;
  return status;
}

TEST(Metrics, EachHasItsHelpItsTypeAndWellFormedSamples) {
  std::istringstream lines(MetricsText(Full(), 12'000));
  const std::regex sample(
      R"re((dunlin_[a-z_]+)(\{[a-z_]+="([^"\\\n]|\\.)*"(,[a-z_]+="([^"\\\n]|\\.)*")*\})? -?[0-9.e+-]+)re");
  std::set<std::string> described;
  std::string name;
  int samples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      name = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(described.insert(name).second) << name << " twice";
    } else if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(line == "# TYPE " + name + " gauge" || line == "# TYPE " + name + " counter");
      EXPECT_EQ(line.ends_with("counter"), name.ends_with("_total")) << line;
    } else {
      std::smatch match;
      ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1], name);
      ++samples;
    }
  }
  EXPECT_GE(samples, static_cast<int>(described.size()));
}

TEST(Metrics, Values) {
  const std::string text = MetricsText(Full(), 12'000);
  EXPECT_THAT(text, HasSubstr("\ndunlin_uptime_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("\ndunlin_items 9007199254740993\n")) << "not rounded";
  EXPECT_THAT(text, HasSubstr(R"(state="serving \"well\"\\\n")"));
  EXPECT_THAT(text, HasSubstr("{block_bytes=\"64\",state=\"used\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("{block_bytes=\"runs\",state=\"free\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\ndunlin_snapshot_age_seconds 2\n"));
  EXPECT_THAT(text, HasSubstr("\ndunlin_snapshot_at_risk_seconds 2.5\n"));
  EXPECT_THAT(text, HasSubstr("\ndunlin_snapshots_failed_total 3\n"));
}

TEST(Metrics, ADiskThatFailsIsSeen) {
  ServerStatus status = Full();
  EXPECT_THAT(MetricsText(status, 0), HasSubstr("\ndunlin_snapshot_failing 0\n"));
  status.snapshots->trouble = "No space left on device";
  EXPECT_THAT(MetricsText(status, 0), HasSubstr("\ndunlin_snapshot_failing 1\n"));
}

TEST(Metrics, WhatIsNotKnownIsNotThere) {
  ServerStatus status = Full();
  status.snapshots->at_risk_ms.reset();
  EXPECT_THAT(MetricsText(status, 0), Not(HasSubstr("at_risk")));
  status.snapshots.reset();
  EXPECT_THAT(MetricsText(status, 0), Not(HasSubstr("snapshot")));
}

TEST(Metrics, WithoutAServerNothingIsPrinted) {
  CommandHarness harness;
  EXPECT_EQ(RunMetrics(harness.context), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\n# TYPE dunlin_info gauge\ndunlin_info{"));
  CommandHarness broken;
  broken.server.status = absl::UnavailableError("gone");
  EXPECT_EQ(RunMetrics(broken.context), ExitCode::kUnavailable);
  EXPECT_EQ(broken.out.bytes(), "");
}

}  // namespace
}  // namespace dunlin::kvctl
