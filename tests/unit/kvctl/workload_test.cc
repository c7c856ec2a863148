#include "client/kvctl/commands/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// A microsecond passes with every look at it.
class StepClock final : public Clock {
 public:
  int64_t NowNanos() const override { return now_ += 1000; }
  int64_t WallNanos() const override { return 42; }

 private:
  mutable int64_t now_ = 0;
};

class WorkloadTest : public ::testing::Test {
 protected:
  WorkloadTest() {
    harness_.context.clock = &clock_;
    arguments_.keys = 100;
    arguments_.time = Milliseconds(20);
  }

  StepClock clock_;
  CommandHarness harness_;
  WorkloadArguments arguments_;
};

TEST_F(WorkloadTest, ReadsAndWritesItsOwnKeysAndRemovesThem) {
  harness_.server.items["kvctl-workload/42/x"] = {"not its own", 1, {}};
  EXPECT_EQ(RunWorkload(harness_.context, arguments_), ExitCode::kOk);
  EXPECT_EQ(harness_.server.items.size(), 1u);
  EXPECT_THAT(harness_.server.batches, ::testing::ElementsAre(64, 36));
  EXPECT_THAT(harness_.out.bytes(), ContainsRegex("failed +0\n"));
  EXPECT_THAT(harness_.out.bytes(), ContainsRegex("READS\noperations +[1-9][0-9,]*\n"));
  EXPECT_THAT(harness_.out.bytes(), ContainsRegex("WRITES\noperations +[1-9][0-9,]*\n"));
}

TEST_F(WorkloadTest, ReadsOnly) {
  arguments_.reads = 100;
  harness_.context.output = OutputFormat::kJson;
  EXPECT_EQ(RunWorkload(harness_.context, arguments_), ExitCode::kOk);
  EXPECT_THAT(harness_.out.bytes(), HasSubstr("\"writes\":{\"operations\":0,"));
}

TEST_F(WorkloadTest, KeysThatCannotBeFilledEndIt) {
  harness_.server.faults["kvctl-workload/42/70"] = Outcome::kMemoryFull;
  EXPECT_EQ(RunWorkload(harness_.context, arguments_), ExitCode::kResourceExhausted);
  EXPECT_THAT(harness_.err.bytes(), HasSubstr("filling the workload's keys: memory full"));
  EXPECT_TRUE(harness_.server.items.empty());
}

TEST_F(WorkloadTest, FailedOperationsAreCountedAndMakeItFail) {
  arguments_.keys = 1;
  harness_.server.lies["kvctl-workload/42/0"] = std::string(arguments_.value_bytes + 1, 'x');
  EXPECT_EQ(RunWorkload(harness_.context, arguments_), ExitCode::kOther);
  EXPECT_THAT(harness_.out.bytes(), ContainsRegex("failed +[1-9]"));
}

}  // namespace
}  // namespace dunlin::kvctl
