#include "client/kvctl/commands/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

PutArguments PutOf(std::string key, std::string value) {
  PutArguments arguments;
  arguments.key.key = std::move(key);
  arguments.value.argument = std::move(value);
  return arguments;
}

TEST(Records, GetPrintsValueVersionAndTtl) {
  CommandHarness harness;
  harness.server.items["k"] = {"hello\n", 1'764'000'000'000'000'123, Milliseconds(59'000)};
  EXPECT_EQ(RunGet(harness.context, {{"k"}}), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(),
            "key      k\nvalue    hello\\n\nversion  1764000000000000123\nttl      59.0 s\n");
}

TEST(Records, GetAsJson) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  harness.server.items["k\xff"] = {"", 5, {}};
  EXPECT_EQ(RunGet(harness.context, {{"6bff", Encoding::kHex}}), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(),
            "{\"key_hex\":\"6bff\",\"value_hex\":\"\",\"version\":\"5\",\"ttl_ms\":null}\n");
}

TEST(Records, GetRawWritesTheBytesAlone) {
  CommandHarness harness;
  const std::string value("a\0\xff\n", 4);
  harness.server.items["k"] = {value, 5, {}};
  EXPECT_EQ(RunGet(harness.context, {{"k"}, true}), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(), value);
}

TEST(Records, MissingEmptyAndErrorAreThreeThings) {
  CommandHarness harness;
  EXPECT_EQ(RunGet(harness.context, {{"k"}, true}), ExitCode::kNotFound);
  EXPECT_EQ(harness.out.bytes(), "");
  EXPECT_EQ(harness.err.bytes(), "kvctl: get \"k\": not found\n");
  harness.server.items["k"] = {"", 5, {}};
  EXPECT_EQ(RunGet(harness.context, {{"k"}, true}), ExitCode::kOk);
  harness.server.faults["k"] = Outcome::kDataLoss;
  EXPECT_EQ(RunGet(harness.context, {{"k"}, true}), ExitCode::kDataLoss);
}

TEST(Records, KeysThatDoNotDecodeAreUsageErrors) {
  CommandHarness harness;
  EXPECT_EQ(RunGet(harness.context, {{"6", Encoding::kHex}}), ExitCode::kUsage);
  EXPECT_THAT(harness.err.bytes(), HasSubstr("kvctl: the key: expected an even number"));
}

TEST(Records, PutFromArgumentFileAndStandardInput) {
  const std::string bytes("from\0stdin\n", 11);
  CommandHarness harness(bytes);
  EXPECT_EQ(RunPut(harness.context, PutOf("a", "x\\n")), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["a"].value, "x\\n");
  EXPECT_EQ(RunPut(harness.context, PutOf("b", "-")), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["b"].value, bytes);

  const std::string path = ::testing::TempDir() + "/kvctl_records_test_value";
  std::ofstream(path, std::ios::binary) << bytes;
  PutArguments from_file = PutOf("c", "");
  from_file.value = {std::nullopt, path};
  EXPECT_EQ(RunPut(harness.context, from_file), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["c"].value, bytes);
  std::remove(path.c_str());

  EXPECT_EQ(RunPut(harness.context, from_file), ExitCode::kOther);
  EXPECT_THAT(harness.err.bytes(), HasSubstr("cannot open " + path + ": No such file"));
}

TEST(Records, PutWithEncodingTtlAndConditions) {
  CommandHarness harness;
  PutArguments put = PutOf("a2V5", "/w==");
  put.key.encoding = Encoding::kBase64;
  put.ttl = Milliseconds(7);
  put.mode = PutMode::kIfAbsent;
  EXPECT_EQ(RunPut(harness.context, put), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["key"].value, "\xff");
  EXPECT_EQ(harness.server.items["key"].ttl, Milliseconds(7));
  EXPECT_EQ(RunPut(harness.context, put), ExitCode::kPreconditionFailed);
  EXPECT_EQ(harness.err.bytes(), "kvctl: put \"key\": exists\n");
  PutArguments update = PutOf("none", "v");
  update.mode = PutMode::kIfPresent;
  EXPECT_EQ(RunPut(harness.context, update), ExitCode::kNotFound);
}

TEST(Records, TooLargeValuesNameTheLimit) {
  const std::string input(101, 'x');
  CommandHarness harness(input);
  harness.server.max_value = 100;
  EXPECT_EQ(RunPut(harness.context, PutOf("a", "-")), ExitCode::kResourceExhausted);
  EXPECT_EQ(RunPut(harness.context, PutOf("a", input)), ExitCode::kResourceExhausted);
  EXPECT_EQ(harness.err.bytes(),
            "kvctl: standard input is longer than the server's limit for a value, 100 bytes\n"
            "kvctl: put \"a\": too large; this server takes keys up to 65535 bytes and values up "
            "to 100 bytes\n");
  EXPECT_TRUE(harness.server.items.empty());
}

TEST(Records, Del) {
  CommandHarness harness;
  harness.server.items["k"] = {};
  EXPECT_EQ(RunDel(harness.context, {{"k"}}), ExitCode::kOk);
  EXPECT_TRUE(harness.server.items.empty());
  EXPECT_EQ(RunDel(harness.context, {{"k"}}), ExitCode::kNotFound);
}

TEST(Records, CasSaysWhichVersionItFound) {
  CommandHarness harness;
  harness.server.items["k"] = {"old", 41, {}};
  CasArguments cas{{"k"}, {"new", {}}, 40, {}};
  EXPECT_EQ(RunCas(harness.context, cas), ExitCode::kPreconditionFailed);
  EXPECT_EQ(harness.err.bytes(), "kvctl: cas \"k\": version mismatch; the key has version 41\n");
  EXPECT_EQ(harness.server.items["k"].value, "old");
  cas.version = 41;
  EXPECT_EQ(RunCas(harness.context, cas), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["k"].value, "new");
  EXPECT_EQ(harness.out.bytes(), "key      k\nversion  1764000000000000001\n");
}

TEST(Records, Incr) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  EXPECT_EQ(RunIncr(harness.context, {{"n"}, 5, {}}), ExitCode::kNotFound);
  EXPECT_EQ(RunIncr(harness.context, {{"n"}, -5, 2}), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["n"].value, "-3");
  EXPECT_THAT(harness.out.bytes(),
              HasSubstr("{\"key\":\"n\",\"sum\":-3,\"version\":\"1764000000000000001\"}\n"));
  harness.server.faults["n"] = Outcome::kOverflow;
  EXPECT_EQ(RunIncr(harness.context, {{"n"}, 1, {}}), ExitCode::kPreconditionFailed);
}

TEST(Records, Touch) {
  CommandHarness harness;
  harness.server.items["k"] = {"v", 1, {}};
  EXPECT_EQ(RunTouch(harness.context, {{"k"}, Milliseconds(1500)}), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["k"].ttl, Milliseconds(1500));
  EXPECT_EQ(RunTouch(harness.context, {{"k"}, {}}), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["k"].ttl, std::nullopt);
  EXPECT_THAT(harness.out.bytes(), HasSubstr("ttl      1.50 s\n"));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("ttl      never expires\n"));
}

TEST(Records, AnUnknownOutcomeHasItsOwnCode) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  harness.server.faults["k"] = Outcome::kUnknown;
  EXPECT_EQ(RunPut(harness.context, PutOf("k", "v")), ExitCode::kOutcomeUnknown);
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"code\":\"UNKNOWN\""));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("may or may not have been executed"));
}

}  // namespace
}  // namespace dunlin::kvctl
