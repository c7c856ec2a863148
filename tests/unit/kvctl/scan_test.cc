#include "client/kvctl/commands/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

TEST(Scan, ListsKeysAndSaysHowToGoOn) {
  CommandHarness harness;
  for (const char* key : {"a", "b", "c", "d"}) harness.server.items[key] = {"v", 7, {}};
  harness.server.items["b"].ttl = Milliseconds(2000);
  ScanArguments arguments;
  arguments.limit = 2;
  EXPECT_EQ(RunScan(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(),
            "KEY  VERSION  TTL\na    7        -\nb    7        2.00 s\nc    7        -\n");
  EXPECT_EQ(harness.err.bytes(), "kvctl: there may be more: --cursor 3\n");
}

TEST(Scan, JsonCarriesTheCursor) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  for (const char* key : {"a", "b\xff"}) harness.server.items[key] = {"v", 7, {}};
  ScanArguments arguments;
  arguments.values = true;
  arguments.limit = 1;
  harness.server.items["c"] = {"", 8, {}};
  EXPECT_EQ(RunScan(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(),
            "{\"entries\":[{\"key\":\"a\",\"version\":\"7\",\"ttl_ms\":null,\"value\":\"v\"},"
            "{\"key_base64\":\"Yv8=\",\"version\":\"7\",\"ttl_ms\":null,\"value\":\"v\"}],"
            "\"cursor\":\"2\"}\n");
  arguments.cursor = 2;
  EXPECT_EQ(RunScan(harness.context, arguments), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"cursor\":null}\n"));
  EXPECT_EQ(harness.err.bytes(), "");
}

TEST(Scan, GoesOnOverPagesWithoutTheprefix) {
  CommandHarness harness;
  for (int i = 0; i < 500; ++i) harness.server.items["a" + std::to_string(i)] = {"v", 7, {}};
  harness.server.items["z"] = {"v", 9, {}};
  ScanArguments arguments;
  arguments.prefix = "7a";
  arguments.encoding = Encoding::kHex;
  arguments.limit = 10;
  EXPECT_EQ(RunScan(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(), "KEY  VERSION  TTL\n7a   9        -\n");
}

TEST(Scan, Errors) {
  CommandHarness harness;
  ScanArguments arguments;
  arguments.prefix = "zz";
  arguments.encoding = Encoding::kHex;
  EXPECT_EQ(RunScan(harness.context, arguments), ExitCode::kUsage);
  harness.server.status = absl::InvalidArgumentError("no such cursor");
  EXPECT_EQ(RunScan(harness.context, {}), ExitCode::kUsage);
  harness.server.status = absl::UnavailableError("gone");
  EXPECT_EQ(RunScan(harness.context, {}), ExitCode::kUnavailable);
}

}  // namespace
}  // namespace dunlin::kvctl
