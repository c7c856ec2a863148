#include "client/kvctl/commands/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "tests/unit/kvctl/fake_server.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ImportArguments Lines() {
  ImportArguments arguments;
  arguments.stream.format = Format::kKeyValueLines;
  return arguments;
}

class TempFile {
 public:
  explicit TempFile(std::string_view bytes)
      : path_(::testing::TempDir() + "/kvctl_import_test_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TempFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Import, PutsEveryRecordInBatches) {
  std::string input;
  for (int i = 0; i < 1000; ++i)
    input += "k" + std::to_string(i) + "\tv" + std::to_string(i) + "\n";
  CommandHarness harness(input);
  ImportArguments arguments = Lines();
  arguments.batch = 300;
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.server.items.size(), 1000u);
  EXPECT_EQ(harness.server.items["k77"].value, "v77");
  EXPECT_THAT(harness.server.batches, ElementsAre(300, 300, 300, 100));
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("written +1,000\nfailed +0\n"));
  EXPECT_EQ(harness.err.bytes(), "");
}

TEST(Import, MalformedAndRefusedRecordsAreCountedAndNamed) {
  CommandHarness harness("a\t1\nbad line\nb\t2\nc\t3\nd\ttoo long\n");
  harness.server.faults["b"] = Outcome::kMemoryFull;
  harness.server.max_value = 7;
  EXPECT_EQ(RunImport(harness.context, Lines()), ExitCode::kSomeFailed);
  EXPECT_EQ(harness.server.items.size(), 2u);
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("written +2\nfailed +3\n"));
  EXPECT_THAT(harness.err.bytes(), HasSubstr("kvctl: line 2: expected a TAB"));
  EXPECT_THAT(harness.err.bytes(), HasSubstr("kvctl: line 3, key \"b\": memory full"));
  EXPECT_THAT(harness.err.bytes(), HasSubstr("kvctl: line 5: the value has 8 bytes"));
}

TEST(Import, OnlyTheFirstErrorsAreShown) {
  std::string input;
  for (int i = 0; i < 50; ++i) input += "bad\n";
  CommandHarness harness(input);
  harness.context.output = OutputFormat::kJson;
  EXPECT_EQ(RunImport(harness.context, Lines()), ExitCode::kSomeFailed);
  EXPECT_THAT(harness.err.bytes(), HasSubstr("line 10:"));
  EXPECT_THAT(harness.err.bytes(), Not(HasSubstr("line 11:")));
  EXPECT_THAT(harness.err.bytes(), HasSubstr("further failed records are only counted"));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"failed\":50"));
  EXPECT_THAT(harness.out.bytes(), HasSubstr("\"errors\":[{\"message\":\"line 1: "));
}

TEST(Import, TheLastOfARepeatedKeyWins) {
  CommandHarness harness("a\t1\nb\t1\na\t2\na\t3\n");
  EXPECT_EQ(RunImport(harness.context, Lines()), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["a"].value, "3");
  EXPECT_THAT(harness.server.batches, ElementsAre(2, 1, 1));
}

TEST(Import, TtlOfTheRecordOrOfTheCommandLine) {
  CommandHarness harness(
      "{\"key\":\"a\",\"value\":\"\",\"ttl_ms\":5}\n{\"key\":\"b\",\"value\":\"\"}\n");
  ImportArguments arguments;
  arguments.ttl = Milliseconds(9);
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["a"].ttl, Milliseconds(5));
  EXPECT_EQ(harness.server.items["b"].ttl, Milliseconds(9));
}

TEST(Import, IfAbsentSkips) {
  CommandHarness harness("a\tnew\nb\tnew\n");
  harness.server.items["a"] = {"old", 1, {}};
  ImportArguments arguments = Lines();
  arguments.if_absent = true;
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["a"].value, "old");
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("skipped +1\n"));
}

TEST(Import, VerifyReadsAFileTwice) {
  const std::string large(3 * 4096, 'x');
  const TempFile file("a\t1\nb\t" + large + "\nc\t3\nd\t4\n");
  CommandHarness harness;
  ImportArguments arguments = Lines();
  arguments.stream.path = file.path();
  arguments.verify = true;
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kOk);
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("VERIFICATION\nverified +4\nfailed +0\n"));

  harness.server.lies["c"] = "33";
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kSomeFailed);
  EXPECT_THAT(
      harness.err.bytes(),
      HasSubstr("verify, line 3, key \"c\": the store has another value (2 bytes instead of "
                "1)"));
  harness.server.lies.clear();
  harness.server.lies["b"] = large + "y";
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kSomeFailed);
}

TEST(Import, VerifySeesALaterOverwrite) {
  const TempFile file("a\t1\nb\t2\na\t3\n");
  CommandHarness harness;
  ImportArguments arguments = Lines();
  arguments.stream.path = file.path();
  arguments.verify = true;
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kSomeFailed);
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("verified +2\nfailed +1\n"));
}

TEST(Import, VerifyChecksBatchesOfStandardInput) {
  CommandHarness harness("a\t1\nb\t2\n");
  harness.server.lies["b"] = "3";
  ImportArguments arguments = Lines();
  arguments.verify = true;
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kSomeFailed);
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("verified +1\nfailed +1\n"));
}

TEST(Import, ALostServerEndsIt) {
  std::string input;
  for (int i = 0; i < 1000; ++i) input += "k" + std::to_string(i) + "\tv\n";
  CommandHarness harness(input);
  harness.server.faults["k700"] = Outcome::kUnavailable;
  ImportArguments arguments = Lines();
  arguments.batch = 100;
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kUnavailable);
  EXPECT_EQ(harness.server.batches.size(), 8u);
  EXPECT_THAT(harness.err.bytes(), HasSubstr("stopped after 700 records written"));
}

TEST(Import, AMissingFileIsNoMissingKey) {
  CommandHarness harness;
  ImportArguments arguments;
  arguments.stream.path = "/nonexistent/file";
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kOther);
  EXPECT_THAT(harness.err.bytes(), HasSubstr("cannot open /nonexistent/file: No such file"));
}

TEST(Import, DebianIndexReportsDuplicates) {
  const std::string stanza = "Package: a\nVersion: 1\nArchitecture: all\n";
  const std::string input = stanza + "\n" + stanza + "\n";
  CommandHarness harness(input);
  ImportArguments arguments;
  arguments.stream.format = Format::kDebianIndex;
  EXPECT_EQ(RunImport(harness.context, arguments), ExitCode::kOk);
  EXPECT_EQ(harness.server.items["a/all/1"].value, stanza);
  EXPECT_EQ(harness.server.items["a/all/1#2"].value, stanza);
  EXPECT_THAT(harness.out.bytes(), ContainsRegex("renamed duplicates +1\n"));
}

TEST(Import, LargeRecordsTravelAlone) {
  std::string input;
  for (int i = 0; i < 4; ++i)
    input += "k" + std::to_string(i) + "\t" + std::string(5 << 20, 'x') + "\n";
  CommandHarness harness(input);
  harness.server.max_value = 64 << 20;
  EXPECT_EQ(RunImport(harness.context, Lines()), ExitCode::kOk);
  EXPECT_THAT(harness.server.batches, ElementsAre(2, 2));
}

}  // namespace
}  // namespace dunlin::kvctl
