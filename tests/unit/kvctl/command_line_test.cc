#include "client/kvctl/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

ParsedCommandLine ParseCommandLine(const Words& words) {
  return kvctl::ParseCommandLine(words, "shm:///default");
}

template <typename Arguments>
Arguments Parse(const Words& words) {
  const ParsedCommandLine parsed = ParseCommandLine(words);
  EXPECT_TRUE(parsed.status.ok()) << parsed.status;
  const Arguments* arguments = std::get_if<Arguments>(&parsed.invocation.command);
  EXPECT_NE(arguments, nullptr);
  return arguments == nullptr ? Arguments() : *arguments;
}

std::string ErrorOf(const Words& words) {
  const ParsedCommandLine parsed = ParseCommandLine(words);
  EXPECT_EQ(parsed.status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(FromAbsl(parsed.status.message()));
}

TEST(CommandLine, GlobalOptionsBeforeAndAfterTheCommand) {
  for (const Words& words : {Words{"--server", "shm:///a", "-o", "json", "--timeout", "1s", "ping"},
                             Words{"ping", "--server", "shm:///a", "-ojson", "--timeout=1s"}}) {
    const ParsedCommandLine parsed = ParseCommandLine(words);
    ASSERT_TRUE(parsed.status.ok()) << parsed.status;
    EXPECT_EQ(parsed.invocation.server, "shm:///a");
    EXPECT_EQ(parsed.invocation.output, OutputFormat::kJson);
    EXPECT_EQ(parsed.invocation.timeout, Milliseconds(1000));
    EXPECT_TRUE(std::holds_alternative<PingArguments>(parsed.invocation.command));
  }
}

TEST(CommandLine, TheEnvironmentBeatsTheDefaultAndTheOptionBoth) {
  EXPECT_EQ(ParseCommandLine({"ping"}).invocation.server, "shm:///default");
  ASSERT_EQ(setenv("DUNLIN_SERVER", "shm:///from/environment", 1), 0);
  EXPECT_EQ(ParseCommandLine({"ping"}).invocation.server, "shm:///from/environment");
  EXPECT_EQ(ParseCommandLine({"ping", "--server", "shm:///b"}).invocation.server, "shm:///b");
  ASSERT_EQ(unsetenv("DUNLIN_SERVER"), 0);
}

TEST(CommandLine, CommandsWithoutArguments) {
  Parse<StatusArguments>({"status"});
  Parse<StatsArguments>({"stats"});
  Parse<MetricsArguments>({"metrics"});
  Parse<LayoutArguments>({"layout"});
}

TEST(CommandLine, KeysAreTakenAsTheyAre) {
  for (const char* key : {"a b", "[a]", "[a,b]", "{x}", "a=b", "-", "0x1f", "\"q\"", "a,b", "%%",
                          "\xff\xfe", "get"}) {
    EXPECT_EQ(Parse<GetArguments>({"get", key}).key.key, key);
  }
  EXPECT_EQ(Parse<GetArguments>({"get", "--", "--raw"}).key.key, "--raw");
  const GetArguments hex = Parse<GetArguments>({"get", "--encoding", "hex", "6b", "--raw"});
  EXPECT_EQ(hex.key.encoding, Encoding::kHex);
  EXPECT_TRUE(hex.raw);
}

TEST(CommandLine, Put) {
  const PutArguments plain = Parse<PutArguments>({"put", "k", "v"});
  EXPECT_EQ(plain.value.argument, "v");
  EXPECT_EQ(plain.ttl, std::nullopt);
  EXPECT_EQ(plain.mode, PutMode::kAlways);
  EXPECT_EQ(Parse<PutArguments>({"put", "k", ""}).value.argument, "");
  const PutArguments file =
      Parse<PutArguments>({"put", "k", "--file", "f", "--ttl", "90s", "--if-absent"});
  EXPECT_EQ(file.value.argument, std::nullopt);
  EXPECT_EQ(file.value.file, "f");
  EXPECT_EQ(file.ttl, Milliseconds(90'000));
  EXPECT_EQ(file.mode, PutMode::kIfAbsent);
  EXPECT_EQ(Parse<PutArguments>({"put", "k", "v", "--if-present"}).mode, PutMode::kIfPresent);
  EXPECT_THAT(ErrorOf({"put", "k"}), HasSubstr("expected a VALUE"));
  EXPECT_THAT(ErrorOf({"put", "k", "v", "--file", "f"}), HasSubstr("excludes"));
  EXPECT_THAT(ErrorOf({"put", "k", "v", "--if-absent", "--if-present"}), HasSubstr("excludes"));
  EXPECT_THAT(ErrorOf({"put", "k", "v", "--ttl", "0s"}), HasSubstr("expected at least 1ms"));
  EXPECT_THAT(ErrorOf({"put", "k", "v", "--ttl", "1d"}), HasSubstr("--ttl"));
}

TEST(CommandLine, Cas) {
  const CasArguments cas =
      Parse<CasArguments>({"cas", "k", "v", "--version", "18446744073709551615"});
  EXPECT_EQ(cas.version, 18446744073709551615u);
  EXPECT_EQ(cas.value.argument, "v");
  EXPECT_THAT(ErrorOf({"cas", "k", "v"}), HasSubstr("--version is required"));
  EXPECT_THAT(ErrorOf({"cas", "k", "v", "--version", "0"}), HasSubstr("whole number from 1"));
  EXPECT_THAT(ErrorOf({"cas", "k", "v", "--version", "18446744073709551616"}),
              HasSubstr("whole number from 1"));
}

TEST(CommandLine, Incr) {
  EXPECT_EQ(Parse<IncrArguments>({"incr", "k"}).by, 1);
  const IncrArguments incr = Parse<IncrArguments>({"incr", "k", "--by", "-010", "--initial", "-5"});
  EXPECT_EQ(incr.by, -10);
  EXPECT_EQ(incr.initial, -5);
  EXPECT_THAT(ErrorOf({"incr", "k", "--by", "1.5"}), HasSubstr("--by is \"1.5\""));
  EXPECT_THAT(ErrorOf({"incr", "k", "--by", "9223372036854775808"}), HasSubstr("--by is"));
}

TEST(CommandLine, Touch) {
  EXPECT_EQ(Parse<TouchArguments>({"touch", "k", "--ttl", "5ms"}).ttl, Milliseconds(5));
  EXPECT_EQ(Parse<TouchArguments>({"touch", "k", "--ttl", "none"}).ttl, std::nullopt);
  EXPECT_THAT(ErrorOf({"touch", "k"}), HasSubstr("--ttl is required"));
}

TEST(CommandLine, Scan) {
  const ScanArguments scan =
      Parse<ScanArguments>({"scan", "--prefix", "p", "--limit", "7", "--cursor", "9", "--values"});
  EXPECT_EQ(scan.prefix, "p");
  EXPECT_EQ(scan.limit, 7u);
  EXPECT_EQ(scan.cursor, 9u);
  EXPECT_TRUE(scan.values);
  EXPECT_THAT(ErrorOf({"scan", "--limit", "0"}), HasSubstr("whole number from 1"));
}

TEST(CommandLine, Sweep) {
  EXPECT_EQ(Parse<SweepArguments>({"sweep"}).patience, Milliseconds(300'000));
  EXPECT_EQ(Parse<SweepArguments>({"sweep", "--wait", "90s"}).patience, Milliseconds(90'000));
  EXPECT_THAT(ErrorOf({"sweep", "--wait", "soon"}), HasSubstr("--wait"));
}

TEST(CommandLine, ImportAndExport) {
  const ImportArguments import =
      Parse<ImportArguments>({"import", "f", "--format", "debian-index", "--verify", "--progress",
                              "always", "--batch", "16", "--ttl", "1h"});
  EXPECT_EQ(import.stream.path, "f");
  EXPECT_EQ(import.stream.format, Format::kDebianIndex);
  EXPECT_TRUE(import.verify);
  EXPECT_EQ(import.progress, ProgressMode::kAlways);
  EXPECT_EQ(import.batch, 16u);
  EXPECT_EQ(import.ttl, Milliseconds(3'600'000));
  EXPECT_EQ(Parse<ImportArguments>({"import"}).stream.path, "-");
  EXPECT_THAT(ErrorOf({"import", "--verify", "--if-absent"}), HasSubstr("excludes"));
  EXPECT_THAT(ErrorOf({"import", "--format", "csv"}), HasSubstr("--format"));

  const ExportArguments command = Parse<ExportArguments>(
      {"export", "--format", "lines", "--encoding", "base64", "--prefix", "p", "--unsorted"});
  EXPECT_EQ(command.stream.format, Format::kKeyValueLines);
  EXPECT_EQ(command.stream.encoding, Encoding::kBase64);
  EXPECT_TRUE(command.unsorted);
  EXPECT_EQ(Parse<ExportArguments>({"export", "--keys-from", "x"}).keys_from, "x");
}

TEST(CommandLine, SnapshotsOfAServer) {
  EXPECT_EQ(Parse<SnapshotCreateArguments>({"snapshot", "create"}).patience, Milliseconds(600'000));
  EXPECT_EQ(Parse<SnapshotCreateArguments>({"snapshot", "create", "--timeout", "2s"}).patience,
            Milliseconds(2000));
  EXPECT_EQ(Parse<SnapshotListArguments>({"snapshot", "list"}).dir, "");
  EXPECT_EQ(Parse<SnapshotListArguments>({"snapshot", "list", "--dir", "d"}).dir, "d");
  const auto remove = Parse<SnapshotDeleteArguments>({"snapshot", "delete", "7", "--dir", "d"});
  EXPECT_EQ(remove.id, 7u);
  EXPECT_EQ(remove.dir, "d");
  EXPECT_THAT(ErrorOf({"snapshot", "delete"}), HasSubstr("ID is required"));
  EXPECT_THAT(ErrorOf({"snapshot", "delete", "0"}), HasSubstr("whole number from 1"));
  EXPECT_THAT(ErrorOf({"snapshot"}), HasSubstr("see kvctl --help"));
  EXPECT_THAT(ErrorOf({"snapshot", "frobnicate"}), HasSubstr("see kvctl --help"));
}

TEST(CommandLine, SnapshotsInADirectory) {
  const auto verify = Parse<SnapshotVerifyArguments>(
      {"snapshot", "verify", "--dir", "d", "3", "--progress", "never"});
  EXPECT_EQ(verify.dir, "d");
  EXPECT_EQ(verify.id, 3u);
  EXPECT_EQ(verify.progress, ProgressMode::kNever);
  EXPECT_EQ(Parse<SnapshotVerifyArguments>({"snapshot", "verify", "--dir", "d"}).id, std::nullopt);
  EXPECT_THAT(ErrorOf({"snapshot", "verify"}), HasSubstr("--dir is required"));

  const auto get = Parse<SnapshotGetArguments>(
      {"snapshot", "get", "--dir", "d", "--id", "4", "6b", "--encoding", "hex", "--raw"});
  EXPECT_EQ(get.snapshot.id, 4u);
  EXPECT_EQ(get.key.key, "6b");
  EXPECT_EQ(get.key.encoding, Encoding::kHex);
  EXPECT_TRUE(get.raw);

  const auto exporting = Parse<SnapshotExportArguments>(
      {"snapshot", "export", "--dir", "d", "f", "--format", "lines", "--prefix", "p", "--sorted"});
  EXPECT_EQ(exporting.stream.path, "f");
  EXPECT_EQ(exporting.stream.format, Format::kKeyValueLines);
  EXPECT_EQ(exporting.prefix, "p");
  EXPECT_TRUE(exporting.sorted);
  EXPECT_EQ(exporting.snapshot.id, std::nullopt);
  EXPECT_THAT(ErrorOf({"snapshot", "export", "--dir", "d", "--sorted", "--keys-from", "k"}),
              HasSubstr("excludes"));

  const auto restore = Parse<SnapshotRestoreArguments>(
      {"snapshot", "restore", "--dir", "d", "5", "--if-absent", "--batch", "16"});
  EXPECT_EQ(restore.snapshot.id, 5u);
  EXPECT_TRUE(restore.options.if_absent);
  EXPECT_EQ(restore.options.batch, 16u);
  EXPECT_THAT(ErrorOf({"snapshot", "restore", "--dir", "d", "--verify", "--if-absent"}),
              HasSubstr("excludes"));
}

TEST(CommandLine, Workload) {
  const WorkloadArguments workload = Parse<WorkloadArguments>(
      {"workload", "--keys", "10", "--size", "0", "--reads", "50", "--time", "200ms"});
  EXPECT_EQ(workload.keys, 10u);
  EXPECT_EQ(workload.value_bytes, 0u);
  EXPECT_EQ(workload.reads, 50u);
  EXPECT_EQ(workload.time, Milliseconds(200));
  EXPECT_THAT(ErrorOf({"workload", "--reads", "101"}), HasSubstr("whole number from 0 to 100"));
}

TEST(CommandLine, MistakesAreUsageErrorsInTheChosenFormat) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("see kvctl --help"));
  EXPECT_THAT(ErrorOf({"frobnicate"}), HasSubstr("see kvctl --help"));
  EXPECT_THAT(ErrorOf({"get"}), HasSubstr("KEY is required"));
  EXPECT_THAT(ErrorOf({"get", "a", "b"}), HasSubstr("b"));
  EXPECT_THAT(ErrorOf({"get", "a", "--nonsense"}), HasSubstr("--nonsense"));
  EXPECT_THAT(ErrorOf({"ping", "--timeout", "5"}), HasSubstr("--timeout"));
  EXPECT_EQ(ParseCommandLine({"-o", "json", "frobnicate"}).invocation.output, OutputFormat::kJson);
  EXPECT_EQ(ParseCommandLine({"get", "-o", "json"}).invocation.output, OutputFormat::kJson);
}

TEST(CommandLine, HelpNamesCommandsAndExitCodes) {
  const std::string help = Parse<TextArguments>({"--help"}).text;
  for (const char* word :
       {"ping",   "get",        "put",      "del",           "cas",         "incr",    "touch",
        "scan",   "import",     "export",   "status",        "stats",       "metrics", "sweep",
        "layout", "completion", "--server", "DUNLIN_SERVER", "Exit codes:", "  10  "}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
  EXPECT_THAT(Parse<TextArguments>({"import", "--help"}).text, HasSubstr("--verify"));
  EXPECT_THAT(Parse<TextArguments>({"--version"}).text, HasSubstr("kvctl "));
}

TEST(CommandLine, CompletionKnowsItsOwnOptions) {
  const std::string bash = Parse<TextArguments>({"completion", "bash"}).text;
  EXPECT_THAT(bash, HasSubstr("debian-index"));
  EXPECT_THAT(bash, HasSubstr("--keys-from"));
  EXPECT_THAT(bash, HasSubstr("*:-o) COMPREPLY=($(compgen -W \"table json\""));
  EXPECT_THAT(Parse<TextArguments>({"completion", "zsh"}).text, HasSubstr("#compdef kvctl"));
  EXPECT_THAT(ErrorOf({"completion", "fish"}), HasSubstr("fish"));
}

}  // namespace
}  // namespace dunlin::kvctl
