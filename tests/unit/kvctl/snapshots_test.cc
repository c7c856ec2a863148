#include "client/kvctl/snapshots/snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/fake_server.h"

// What needs no directory; tests/end_to_end/snapshots has the rest.

namespace dunlin::kvctl {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SnapshotCommands, CreateWaitsAsLongAsTold) {
  CommandHarness harness;
  EXPECT_EQ(RunSnapshotCreate(harness.context, {.patience = Milliseconds(1234)}), ExitCode::kOk);
  EXPECT_THAT(harness.server.snapshot_waits, ElementsAre(Milliseconds(1234)));
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("id +1\n"));
}

TEST(SnapshotCommands, CreateThatTakesTooLongSaysThatItMayComeYet) {
  CommandHarness harness;
  harness.server.status = absl::DeadlineExceededError("late");
  EXPECT_EQ(RunSnapshotCreate(harness.context, {.patience = Milliseconds(2000)}),
            ExitCode::kDeadlineExceeded);
  EXPECT_THAT(harness.err.bytes(), AllOf(HasSubstr("within 2s"), HasSubstr("--timeout")));
}

TEST(SnapshotCommands, RefusalsAreFailedPreconditions) {
  CommandHarness harness;
  harness.server.status = absl::FailedPreconditionError("it is the newest");
  EXPECT_EQ(RunSnapshotDelete(harness.context, {.dir = "", .id = 1}),
            ExitCode::kPreconditionFailed);
  EXPECT_EQ(RunSnapshotList(harness.context, {}), ExitCode::kPreconditionFailed);
  EXPECT_EQ(RunSnapshotCreate(harness.context, {}), ExitCode::kPreconditionFailed);
  harness.server.status = absl::ResourceExhaustedError("No space left");
  EXPECT_EQ(RunSnapshotCreate(harness.context, {}), ExitCode::kResourceExhausted);
}

TEST(SnapshotCommands, ListShowsWhatIsKnown) {
  CommandHarness harness;
  SnapshotSummary good;
  good.id = 2;
  good.records = 1000;  // how many bytes they have is not known
  good.file_bytes = 2048;
  good.started_unix_ms = 1'796'056'731'000;
  good.finished_unix_ms = 1'796'056'731'045;
  good.release = "1.2.3";
  SnapshotSummary damaged;
  damaged.id = 1;
  damaged.trouble = "its manifest is torn";
  harness.server.snapshots = {good, damaged};
  EXPECT_EQ(RunSnapshotList(harness.context, {}), ExitCode::kOk);
  EXPECT_THAT(
      harness.out.bytes(),
      AllOf(ContainsRegex("2 +usable +1,000 +- +2\\.00 KiB +2026-11-30 16:38:51\\.045 UTC"),
            ContainsRegex("1 +damaged +- .* its manifest is torn\n"), HasSubstr("TROUBLE")));

  CommandHarness json;
  json.context.output = OutputFormat::kJson;
  json.server.snapshots = {damaged};
  EXPECT_EQ(RunSnapshotList(json.context, {}), ExitCode::kOk);
  EXPECT_THAT(json.out.bytes(), HasSubstr("{\"snapshots\":[{\"id\":1,\"state\":\"damaged\","
                                          "\"records\":null,"));
}

}  // namespace
}  // namespace dunlin::kvctl
