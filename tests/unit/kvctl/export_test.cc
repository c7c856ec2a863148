#include "client/kvctl/commands/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "client/kvctl/commands/import.h"
#include "tests/unit/kvctl/fake_server.h"
#include "tests/unit/kvctl/record_stream_testing.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ExportArguments Lines() {
  ExportArguments arguments;
  arguments.stream.format = Format::kKeyValueLines;
  return arguments;
}

std::string Path() {
  return ::testing::TempDir() + "/kvctl_export_test_" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Export, SortedAndEachKeyOnce) {
  CommandHarness harness;
  std::string expected;
  for (int i = 10'000; i < 13'000; ++i) {
    harness.server.items[std::to_string(i)] = {"v" + std::to_string(i), 1, {}};
    expected += std::to_string(i) + "\tv" + std::to_string(i) + "\n";
  }
  EXPECT_EQ(RunExport(harness.context, Lines()), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(), expected);
  EXPECT_THAT(harness.err.bytes(), ContainsRegex("written +3,000\nfailed +0\n"));
}

TEST(Export, UnsortedAndPrefix) {
  CommandHarness harness;
  for (const char* key : {"a1", "b1", "b2", "c1"}) harness.server.items[key] = {"v", 1, {}};
  ExportArguments arguments = Lines();
  arguments.unsorted = true;
  arguments.prefix = "b";
  EXPECT_EQ(RunExport(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(), "b1\tv\nb2\tv\n");
}

TEST(Export, KeysFromAFileInItsOrder) {
  CommandHarness harness("c\t\nmissing\t\na\t\n");
  for (const char* key : {"a", "b", "c"}) harness.server.items[key] = {"v", 1, {}};
  ExportArguments arguments = Lines();
  arguments.keys_from = "-";
  EXPECT_EQ(RunExport(harness.context, arguments), ExitCode::kSomeFailed);
  EXPECT_EQ(harness.out.bytes(), "c\tv\na\tv\n");
  EXPECT_THAT(harness.err.bytes(), HasSubstr("kvctl: key \"missing\": not found\n"));
}

TEST(Export, RecordsThatVanishAreLeftOut) {
  CommandHarness harness;
  for (const char* key : {"a", "b"}) harness.server.items[key] = {"v", 1, {}};
  harness.server.faults["a"] = Outcome::kNotFound;
  EXPECT_EQ(RunExport(harness.context, Lines()), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(), "b\tv\n");
  EXPECT_THAT(harness.err.bytes(), ContainsRegex("vanished +1\n"));
}

TEST(Export, LargeValuesAndTtl) {
  CommandHarness harness;
  const std::string large(100'000, 'x');
  harness.server.items["a"] = {large, 1, Milliseconds(0)};
  harness.server.items["b"] = {"v", 1, Milliseconds(77)};
  EXPECT_EQ(RunExport(harness.context, {}), ExitCode::kOk);
  EXPECT_EQ(harness.out.bytes(), "{\"key\":\"a\",\"value\":\"" + large +
                                     "\",\"ttl_ms\":1}\n{\"key\":\"b\",\"value\":\"v\",\"ttl_ms\":"
                                     "77}\n");
}

TEST(Export, SaysWhenTtlsAreLost) {
  CommandHarness harness;
  harness.server.items["b"] = {"v", 1, Milliseconds(77)};
  EXPECT_EQ(RunExport(harness.context, Lines()), ExitCode::kOk);
  EXPECT_THAT(harness.err.bytes(), StartsWith("kvctl: 1 records have a time to live that this"));
  EXPECT_THAT(harness.err.bytes(), ContainsRegex("ttls dropped +1\n"));
}

TEST(Export, AFileAppearsWholeOrNotAtAll) {
  CommandHarness harness;
  harness.server.items["a"] = {"v", 1, {}};
  ExportArguments arguments = Lines();
  arguments.stream.path = Path();
  EXPECT_EQ(RunExport(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(ReadFile(Path()), "a\tv\n");
  EXPECT_THAT(harness.out.bytes(), StartsWith("written"));

  harness.server.items["a"].value = "new";
  harness.server.faults["a"] = Outcome::kUnavailable;
  EXPECT_EQ(RunExport(harness.context, arguments), ExitCode::kUnavailable);
  EXPECT_EQ(ReadFile(Path()), "a\tv\n");
  EXPECT_FALSE(std::filesystem::exists(Path() + ".partial"));
  std::filesystem::remove(Path());
}

TEST(Export, RecordsThatTheFormatCannotHoldFail) {
  CommandHarness harness;
  const std::string stanza = "Package: a\nVersion: 1\nArchitecture: all\n";
  harness.server.items["a/all/1"] = {stanza, 1, {}};
  harness.server.items["other"] = {"v", 1, {}};
  ExportArguments arguments;
  arguments.stream.format = Format::kDebianIndex;
  EXPECT_EQ(RunExport(harness.context, arguments), ExitCode::kSomeFailed);
  EXPECT_EQ(harness.out.bytes(), stanza + "\n");
  EXPECT_THAT(harness.err.bytes(), HasSubstr("value of \"other\" is not a stanza"));
}

TEST(Export, JsonErrorsDoNotMixWithTheStream) {
  CommandHarness harness;
  harness.context.output = OutputFormat::kJson;
  harness.server.status = absl::UnavailableError("gone");
  EXPECT_EQ(RunExport(harness.context, Lines()), ExitCode::kUnavailable);
  EXPECT_EQ(harness.out.bytes(), "");
  EXPECT_THAT(harness.err.bytes(), StartsWith("{\"error\":{\"code\":\"UNAVAILABLE\""));
}

TEST(Export, ImportBringsEverythingBack) {
  for (const Format format : {Format::kJsonLines, Format::kKeyValueLines}) {
    for (const Encoding encoding : {Encoding::kText, Encoding::kHex, Encoding::kBase64}) {
      CommandHarness from;
      for (const Record& record : RandomRecords(3, 500)) {
        from.server.items[record.key] = {record.value, 1, {}};
      }
      ExportArguments exporting;
      exporting.stream = {"-", format, encoding};
      ASSERT_EQ(RunExport(from.context, exporting), ExitCode::kOk);
      CommandHarness to(from.out.bytes());
      ImportArguments importing;
      importing.stream = exporting.stream;
      ASSERT_EQ(RunImport(to.context, importing), ExitCode::kOk) << to.err.bytes();
      ASSERT_EQ(to.server.items.size(), from.server.items.size());
      for (const auto& [key, item] : from.server.items) {
        EXPECT_EQ(to.server.items[key].value, item.value);
      }
    }
  }
}

}  // namespace
}  // namespace dunlin::kvctl
