#include "client/kvctl/commands/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(Server, Ping) {
  CommandHarness harness;
  EXPECT_EQ(RunPing(harness.context), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(), "release     1.2.3\nround trip  12.3 us\n");
}

TEST(Server, StatusAsksForACountAndShowsMemoryIndexAndSessions) {
  CommandHarness harness;
  ServerStatus& status = harness.server.server_status;
  status.state = "serving";
  status.heap_bytes = 1 << 30;
  status.heap_used_bytes = 1 << 28;
  status.items = 800;
  status.index_slots = 1000;
  status.sessions.push_back({3, 4711, "app", false, 61'000, 12, true, 5, "shm"});
  EXPECT_EQ(RunStatus(harness.context), ExitCode::kOk);
  const std::string& text = harness.out.bytes();
  EXPECT_THAT(text, HasSubstr("state            serving\n"));
  EXPECT_THAT(text, HasSubstr("heap used bytes   256 MiB\n"));
  EXPECT_THAT(text, HasSubstr("heap load         25.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("index load +80\\.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("counted now +yes\n"));
  EXPECT_THAT(text, HasSubstr("SESSIONS\nID"));
  EXPECT_THAT(text, HasSubstr("4711  app"));
}

TEST(Server, StatusAsJson) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  harness.server.server_status.incarnation = ~uint64_t{0};
  EXPECT_EQ(RunStatus(harness.context), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"incarnation\":\"18446744073709551615\""));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"index_load\":0,"));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"sessions\":[]}\n"));
}

TEST(Server, StatusShowsSnapshots) {
  CommandHarness harness;
  ServerSnapshots& snapshots = harness.server.server_status.snapshots.emplace();
  EXPECT_EQ(RunStatus(harness.context), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("last id +none yet\n"));
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("at risk +all that was written since the start"));
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("loaded id +started empty"));

  CommandHarness later;
  snapshots.interval_ms = 60'000;
  snapshots.last_id = 12;
  snapshots.last_finished_unix_ms = later.clock.WallNanos() / 1'000'000 - 5000;
  snapshots.at_risk_ms = 7000;
  snapshots.trouble = "No space left on device";
  snapshots.loaded_id = 3;
  snapshots.loaded_records = 1000;
  snapshots.skipped = {"snapshot 4: its manifest is torn"};
  later.server.server_status.snapshots = snapshots;
  EXPECT_EQ(RunStatus(later.context), ExitCode::kOk);
  const std::string& text = later.out.bytes();
  EXPECT_THAT(text, ContainsRegex("last id +12\nlast age +5\\.00 s\n"));
  EXPECT_THAT(text, ContainsRegex("at risk +7\\.00 s\ninterval +60\\.0 s\n"));
  EXPECT_THAT(text, ContainsRegex("trouble +No space left on device\n"));
  EXPECT_THAT(text, ContainsRegex("loaded id +3\nloaded records +1,000\n"));
  EXPECT_THAT(text, HasSubstr("SKIPPED AT START\n"));
  EXPECT_THAT(text, HasSubstr("its manifest is torn"));
}

TEST(Server, StatusWithoutSnapshots) {
  CommandHarness harness;
  EXPECT_EQ(RunStatus(harness.context), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(),
              ContainsRegex("snapshots +none: records last as long as the server\n"));
}

TEST(Server, StatusShowsThePatrol) {
  CommandHarness harness;
  ServerStatus& status = harness.server.server_status;
  status.mode = "store";
  status.uptime_ms = 1000;
  status.patrol.cpu_nanos = 15'000'000;
  status.patrol.cpu_share = 0.02;
  status.patrol.swept_blocks = 42;
  status.patrol.walk_permille = 250;
  EXPECT_EQ(RunStatus(harness.context), ExitCode::kOk);
  const std::string& text = harness.out.bytes();
  EXPECT_THAT(text, ContainsRegex("mode +store\n"));
  EXPECT_THAT(text, ContainsRegex("cpu limit +2\\.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("cpu used +1\\.5 %\n"));
  EXPECT_THAT(text, ContainsRegex("walk done +25\\.0 %\n"));
  EXPECT_THAT(text, ContainsRegex("swept blocks +42\n"));
}

TEST(Server, SweepWaitsAsToldAndShowsTheStatusAfterwards) {
  CommandHarness harness;
  harness.server.server_status.patrol.swept_blocks = 7;
  EXPECT_EQ(RunSweep(harness.context, {Milliseconds(1234)}), ExitCode::kOk);
  EXPECT_EQ(harness.server.sweeps, std::vector<Milliseconds>{Milliseconds(1234)});
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("swept blocks +7\n"));
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("counted now +yes\n"));
}

TEST(Server, StatsShowsSizeClasses) {
  CommandHarness harness;
  harness.server.server_status.sessions_lost = 2;
  harness.server.server_status.classes = {{0, 64, 10, 6, 1024}, {9, 0, 1, 0, 1 << 20}};
  EXPECT_EQ(RunStats(harness.context), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(), HasSubstr("sessions lost        2\n"));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("CLASS  BLOCK BYTES  BLOCKS USED"));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("runs"));
}

TEST(Server, Layout) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  harness.server.layout.heap_offset = 4096;
  EXPECT_EQ(RunLayout(harness.context), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"heap_offset\":4096"));
}

TEST(Server, FailuresOfAdministration) {
  CommandHarness harness;
  harness.server.status = absl::DeadlineExceededError("no answer within 5 s");
  EXPECT_EQ(RunPing(harness.context), ExitCode::kDeadlineExceeded);
  EXPECT_EQ(RunStatus(harness.context), ExitCode::kDeadlineExceeded);
  EXPECT_EQ(RunSweep(harness.context, {}), ExitCode::kDeadlineExceeded);
  EXPECT_EQ(RunStats(harness.context), ExitCode::kDeadlineExceeded);
  EXPECT_EQ(harness.out.bytes(), "");
}

}  // namespace
}  // namespace dunlin::kvctl
