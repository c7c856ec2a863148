#include "client/kvctl/context.h"

#include <gtest/gtest.h>

#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

TEST(Context, TableErrorsGoToErr) {
  CommandHarness harness;
  EXPECT_EQ(Fail(harness.context, absl::UnavailableError("nobody listens")),
            ExitCode::kUnavailable);
  EXPECT_EQ(harness.out.bytes(), "");
  EXPECT_EQ(harness.err.bytes(), "kvctl: nobody listens\n");
}

TEST(Context, JsonErrorsGoToOut) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  EXPECT_EQ(Fail(harness.context, absl::UnavailableError("nobody listens")),
            ExitCode::kUnavailable);
  EXPECT_EQ(harness.out.bytes(),
            "{\"error\":{\"code\":\"UNAVAILABLE\",\"message\":\"nobody listens\",\"exit\":5}}\n");
  EXPECT_EQ(harness.err.bytes(), "");
}

class ClosedPipe final : public ByteSink {
 public:
  absl::Status Write(std::string_view) override { return absl::OkStatus(); }
  absl::Status Flush() override { return absl::InternalError("cannot write standard output"); }
};

TEST(Context, AnAnswerThatCannotBeWrittenIsAFailure) {
  CommandHarness harness;
  ClosedPipe pipe;
  harness.context.out = &pipe;
  EXPECT_EQ(PrintBytes(harness.context, "x"), ExitCode::kOther);
  EXPECT_EQ(harness.err.bytes(), "kvctl: cannot write standard output\n");
}

}  // namespace
}  // namespace dunlin::kvctl
