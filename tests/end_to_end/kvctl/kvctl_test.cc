#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "common/base/clock.h"
#include "tests/end_to_end/kvctl/kvctl_process.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The member's value as it is written in JSON; empty if there is none.
std::string Member(const std::string& json, const std::string& name) {
  std::smatch match;
  const std::regex pattern("\"" + name + "\":(\"[^\"]*\"|[^,}]*)");
  return std::regex_search(json, match, pattern) ? match[1].str() : "";
}

std::string Unquoted(const std::string& text) { return text.substr(1, text.size() - 2); }

TEST_F(KvctlTest, ALifeOfARecord) {
  const KvctlResult put = Kvctl({"put", "greeting", "hello", "-o", "json"});
  EXPECT_EQ(put.exit, 0) << put.err;
  const KvctlResult get = Kvctl({"get", "greeting", "-o", "json"});
  EXPECT_EQ(get.exit, 0);
  const std::string version = Member(put.out, "version");
  EXPECT_EQ(get.out, "{\"key\":\"greeting\",\"value\":\"hello\",\"version\":" + version +
                         ",\"ttl_ms\":null}\n");
  EXPECT_EQ(Kvctl({"get", "greeting", "--raw"}).out, "hello");
  EXPECT_EQ(Kvctl({"put", "greeting", "x", "--if-absent"}).exit, 4);
  EXPECT_EQ(Kvctl({"put", "absent", "x", "--if-present"}).exit, 3);

  EXPECT_EQ(Kvctl({"cas", "greeting", "x", "--version", "12"}).exit, 4);
  const KvctlResult cas = Kvctl({"cas", "greeting", "hi", "--version", Unquoted(version)});
  EXPECT_EQ(cas.exit, 0) << cas.err;
  EXPECT_EQ(Kvctl({"cas", "greeting", "ho", "--version", Unquoted(version)}).exit, 4);
  EXPECT_EQ(Kvctl({"get", "greeting", "--raw"}).out, "hi");

  EXPECT_EQ(Kvctl({"del", "greeting"}).exit, 0);
  EXPECT_EQ(Kvctl({"del", "greeting"}).exit, 3);
  const KvctlResult missing = Kvctl({"get", "greeting", "-o", "json"});
  EXPECT_EQ(missing.exit, 3);
  EXPECT_EQ(missing.out,
            "{\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"get \\\"greeting\\\": not found\","
            "\"exit\":3}}\n");
  EXPECT_EQ(Kvctl({"cas", "greeting", "x", "--version", "12"}).exit, 3);
}

TEST_F(KvctlTest, AnyBytesAsKeyAndValue) {
  EXPECT_EQ(Kvctl({"put", "--encoding", "hex", "00ff0a", "fe00"}).exit, 0);
  EXPECT_EQ(Kvctl({"get", "--encoding", "base64", "AP8K", "--raw"}).out, std::string("\xfe\0", 2));
  EXPECT_EQ(Kvctl({"put", "empty", ""}).exit, 0);
  const KvctlResult empty = Kvctl({"get", "empty", "--raw"});
  EXPECT_EQ(empty.exit, 0);
  EXPECT_EQ(empty.out, "");
  EXPECT_EQ(Kvctl({"put", "", "x"}).exit, 2);
}

TEST_F(KvctlTest, Counters) {
  EXPECT_EQ(Kvctl({"incr", "n"}).exit, 3);
  EXPECT_EQ(Member(Kvctl({"incr", "n", "--initial", "40", "-o", "json"}).out, "sum"), "41");
  EXPECT_EQ(Member(Kvctl({"incr", "n", "--by", "-50", "-o", "json"}).out, "sum"), "-9");
  EXPECT_EQ(Kvctl({"get", "n", "--raw"}).out, "-9");
  EXPECT_EQ(Kvctl({"put", "n", "9223372036854775807"}).exit, 0);
  EXPECT_EQ(Kvctl({"incr", "n"}).exit, 4);
  EXPECT_EQ(Kvctl({"get", "n", "--raw"}).out, "9223372036854775807");
  EXPECT_EQ(Kvctl({"put", "n", "no number"}).exit, 0);
  EXPECT_EQ(Kvctl({"incr", "n"}).exit, 4);
}

TEST_F(KvctlTest, TimeToLive) {
  EXPECT_EQ(Kvctl({"put", "k", "v", "--ttl", "1h"}).exit, 0);
  const int left = std::stoi("0" + Member(Kvctl({"get", "k", "-o", "json"}).out, "ttl_ms"));
  EXPECT_GT(left, 3'500'000);
  EXPECT_LE(left, 3'600'000);
  EXPECT_EQ(Kvctl({"touch", "k", "--ttl", "none"}).exit, 0);
  EXPECT_EQ(Member(Kvctl({"get", "k", "-o", "json"}).out, "ttl_ms"), "null");

  EXPECT_EQ(Kvctl({"touch", "k", "--ttl", "30ms"}).exit, 0);
  const SystemClock clock;
  const int64_t give_up = clock.NowNanos() + 20'000'000'000;
  int exit = 0;
  while (exit == 0 && clock.NowNanos() < give_up) exit = Kvctl({"get", "k"}).exit;
  EXPECT_EQ(exit, 3);
  EXPECT_EQ(Kvctl({"touch", "k", "--ttl", "1s"}).exit, 3);
}

TEST_F(KvctlTest, LimitsAreNamedAndTheOldValueStays) {
  StartServer("64MiB", {"--records", "1000", "--max-value-size", "1MiB"});
  const std::string most(1 << 20, 'x');
  EXPECT_EQ(Kvctl({"put", "k", "-"}, most).exit, 0);
  const KvctlResult more = Kvctl({"put", "k", "-"}, most + "y");
  EXPECT_EQ(more.exit, 7);
  EXPECT_THAT(more.err, HasSubstr("1048576 bytes"));
  EXPECT_EQ(Kvctl({"get", "k", "--raw"}).out, most);

  const std::string key(65'535, 'k');
  EXPECT_EQ(Kvctl({"put", key, "v"}).exit, 0);
  EXPECT_EQ(Kvctl({"get", key, "--raw"}).out, "v");
  const KvctlResult long_key = Kvctl({"put", key + "k", "v"});
  EXPECT_EQ(long_key.exit, 7);
  EXPECT_THAT(long_key.err, HasSubstr("keys up to 65535 bytes"));
}

TEST_F(KvctlTest, ScanWalksTheWholeStore) {
  std::string lines;
  for (int i = 0; i < 700; ++i) lines += "key" + std::to_string(i) + "\tv\n";
  lines += "other\tv\n";
  ASSERT_EQ(Kvctl({"import", "--format", "lines"}, lines).exit, 0);
  std::set<std::string> seen;
  std::string cursor = "0";
  for (int page = 0; page < 100 && cursor != "null"; ++page) {
    const KvctlResult scan = Kvctl(
        {"scan", "--prefix", "key", "--limit", "50", "--cursor", cursor, "--values", "-o", "json"});
    ASSERT_EQ(scan.exit, 0) << scan.err;
    const std::regex pattern("\"key\":\"([^\"]*)\"");
    for (std::sregex_iterator it(scan.out.begin(), scan.out.end(), pattern), end; it != end; ++it) {
      seen.insert((*it)[1].str());
    }
    cursor = Member(scan.out, "cursor");
    if (cursor != "null") cursor = Unquoted(cursor);
  }
  EXPECT_EQ(cursor, "null");
  EXPECT_EQ(seen.size(), 700u);
  EXPECT_EQ(seen.count("other"), 0u);
}

TEST_F(KvctlTest, TheServerTellsAboutItself) {
  ASSERT_EQ(Kvctl({"put", "k", "v"}).exit, 0);
  const KvctlResult ping = Kvctl({"ping"});
  EXPECT_EQ(ping.exit, 0);
  EXPECT_THAT(ping.out, ContainsRegex("round trip +[0-9.]+ [mu]s\n"));
  const KvctlResult status = Kvctl({"status", "-o", "json"});
  EXPECT_EQ(status.exit, 0);
  EXPECT_EQ(Member(status.out, "items"), "1");
  EXPECT_EQ(Member(status.out, "counted_now"), "true");
  EXPECT_EQ(Member(status.out, "region_bytes"), std::to_string(64 << 20));
  EXPECT_THAT(Kvctl({"status"}).out, HasSubstr("\nINDEX\nitems              1\n"));
  EXPECT_EQ(Kvctl({"stats"}).exit, 0);
  EXPECT_THAT(Kvctl({"metrics"}).out, HasSubstr("\ndunlin_heap_bytes "));
  const KvctlResult layout = Kvctl({"layout", "-o", "json"});
  EXPECT_EQ(layout.exit, 0);
  EXPECT_EQ(Member(layout.out, "slots_per_bucket"), "15");
}

TEST_F(KvctlTest, WorkloadLeavesNothingBehind) {
  ASSERT_EQ(Kvctl({"put", "k", "v"}).exit, 0);
  const KvctlResult workload =
      Kvctl({"workload", "--keys", "1000", "--time", "100ms", "--reads", "50"});
  EXPECT_EQ(workload.exit, 0) << workload.err;
  EXPECT_THAT(workload.out, ContainsRegex("failed +0\n"));
  EXPECT_EQ(Member(Kvctl({"status", "-o", "json"}).out, "items"), "1");
}

TEST_F(KvctlTest, NoServer) {
  const std::string folder = server_->folder();
  const SystemClock clock;
  for (const bool killed : {false, true}) {
    const std::string target = killed ? server_->target() : "shm://" + folder + "/nobody.sock";
    if (killed) server_->Kill();
    const int64_t start = clock.NowNanos();
    const KvctlResult result =
        RunKvctl(folder, {"--server", target, "--timeout", "2s", "-o", "json", "get", "k"});
    EXPECT_LT(clock.NowNanos() - start, 5'000'000'000);
    EXPECT_EQ(result.exit, 5);
    EXPECT_THAT(result.out, StartsWith("{\"error\":{\"code\":\"UNAVAILABLE\","));
  }
  EXPECT_EQ(RunKvctl(folder, {"--server", "tcp://elsewhere", "ping"}).exit, 2);
}

TEST_F(KvctlTest, UsageErrors) {
  EXPECT_EQ(Kvctl({}).exit, 2);
  EXPECT_EQ(Kvctl({"frobnicate"}).exit, 2);
  EXPECT_EQ(Kvctl({"put", "k"}).exit, 2);
  EXPECT_THAT(Kvctl({"-o", "json", "get"}).out,
              StartsWith("{\"error\":{\"code\":\"INVALID_ARGUMENT\""));
  EXPECT_THAT(Kvctl({"--help"}).out, HasSubstr("Exit codes:"));
}

TEST_F(KvctlTest, AnAnswerThatCannotBeWrittenIsAFailure) {
  ASSERT_EQ(Kvctl({"put", "k", "v"}).exit, 0);
  const KvctlResult result = Kvctl({"export", "/dev/full"});
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace dunlin::kvctl
