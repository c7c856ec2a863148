#include <gmock/gmock.h>
#include <unistd.h>

#include "common/base/random.h"
#include "tests/end_to_end/kvctl/kvctl_process.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Like the index of a distribution: sizes from a hundred bytes to many KiB.
std::string PackageIndex(int stanzas, uint64_t seed) {
  Random random(seed);
  std::string index;
  for (int i = 0; i < stanzas; ++i) {
    index += "Package: package-" + std::to_string(random.Below(1u << 30)) + "-" +
             std::to_string(i) + "\nVersion: 1:" + std::to_string(random.Below(100)) +
             ".2~rc1-3+b1\nArchitecture: " + (random.OneIn(2) ? "amd64" : "all") + "\nDepends: ";
    const uint64_t length = random.OneIn(50) ? random.Below(60'000) : random.Below(900);
    for (uint64_t c = 0; c < length; ++c) index.push_back("abcxyz, (>=)"[random.Below(12)]);
    index += "x\nDescription: something\n continued\n .\n\n";
  }
  return index;
}

TEST_F(KvctlTest, PackageIndexComesBackByteForByte) {
  const std::string index = PackageIndex(3000, 1);
  WriteFile(Path("index"), index);
  const KvctlResult import = Kvctl(
      {"import", Path("index"), "--format", "debian-index", "--verify", "--progress", "always"});
  EXPECT_EQ(import.exit, 0) << import.err;
  EXPECT_THAT(import.out, ContainsRegex("written +3,000\nfailed +0\n"));
  EXPECT_THAT(import.out, ContainsRegex("VERIFICATION\nverified +3,000\nfailed +0\n"));
  EXPECT_THAT(import.err, HasSubstr("import  100.0 %  3,000 records"));

  const KvctlResult ordered =
      Kvctl({"export", Path("copy"), "--format", "debian-index", "--keys-from", Path("index")});
  EXPECT_EQ(ordered.exit, 0) << ordered.err;
  EXPECT_TRUE(ReadFile(Path("copy")) == index);
  const KvctlResult sorted = Kvctl({"export", "--format", "debian-index"});
  EXPECT_EQ(sorted.exit, 0);
  EXPECT_EQ(sorted.out.size(), index.size());
}

TEST_F(KvctlTest, EveryFormatMovesAStoreUnchanged) {
  ASSERT_EQ(Kvctl({"put", "--encoding", "hex", "00", ""}).exit, 0);
  ASSERT_EQ(Kvctl({"put", "--encoding", "hex", "ff09", "0a0d5c00"}).exit, 0);
  ASSERT_EQ(Kvctl({"put", "large", "-"}, std::string(3 << 20, '\xfd')).exit, 0);
  ASSERT_EQ(Kvctl({"put", "gr\xc3\xbc\xc3\x9f", "\"quoted\"\n"}).exit, 0);
  const std::vector<std::vector<std::string>> formats = {
      {"--format", "json"},
      {"--format", "json", "--encoding", "hex"},
      {"--format", "lines"},
      {"--format", "lines", "--encoding", "base64"},
      {"--format", "lines", "--encoding", "hex"}};
  for (const std::vector<std::string>& format : formats) {
    std::vector<std::string> command = {"export"};
    command.insert(command.end(), format.begin(), format.end());
    const KvctlResult before = Kvctl(command);
    ASSERT_EQ(before.exit, 0) << before.err;
    StartServer("64MiB", {"--records", "1000"});
    command[0] = "import";
    const KvctlResult import = Kvctl(command, before.out);
    ASSERT_EQ(import.exit, 0) << import.err;
    command[0] = "export";
    EXPECT_TRUE(Kvctl(command).out == before.out) << format.back();
  }
}

TEST_F(KvctlTest, TtlsTravelInJson) {
  ASSERT_EQ(Kvctl({"put", "k", "v", "--ttl", "1h"}).exit, 0);
  const KvctlResult stream = Kvctl({"export"});
  EXPECT_THAT(stream.out, ContainsRegex("\"ttl_ms\":3[56][0-9]{5}}"));
  ASSERT_EQ(Kvctl({"del", "k"}).exit, 0);
  ASSERT_EQ(Kvctl({"import"}, stream.out).exit, 0);
  EXPECT_THAT(Kvctl({"get", "k", "-o", "json"}).out, ContainsRegex("\"ttl_ms\":3[56][0-9]{5}}"));
  EXPECT_THAT(Kvctl({"export", "--format", "lines"}).err, HasSubstr("have a time to live"));
}

TEST_F(KvctlTest, BadRecordsAreCountedAndTheRestIsThere) {
  const KvctlResult import = Kvctl({"import", "-o", "json"},
                                   "{\"key\":\"a\",\"value\":\"1\"}\n{\"key\":\"b\"}\n"
                                   "{\"key\":\"c\",\"value\":\"3\"}\n");
  EXPECT_EQ(import.exit, 10);
  EXPECT_THAT(import.out, HasSubstr("\"written\":2,\"failed\":1,"));
  EXPECT_THAT(import.err, HasSubstr("line 2, no member \"value\""));
  EXPECT_EQ(Kvctl({"get", "c", "--raw"}).out, "3");
}

TEST_F(KvctlTest, AFullServerRefusesWithATypedErrorAndKeepsServing) {
  StartServer("8MiB", {"--records", "1000"});
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += "k" + std::to_string(i) + "\t" + std::string(200'000, 'x') + "\n";
  const KvctlResult import = Kvctl({"import", "--format", "lines"}, lines);
  EXPECT_EQ(import.exit, 10);
  EXPECT_THAT(import.err, HasSubstr("memory full"));
  EXPECT_THAT(import.out, Not(ContainsRegex("written +0\n")));
  EXPECT_EQ(Kvctl({"put", "one-more", "-"}, std::string(4 << 20, 'x')).exit, 7);
  EXPECT_EQ(Kvctl({"get", "k0", "--raw"}).out, std::string(200'000, 'x'));
  const KvctlResult stream = Kvctl({"export", "--format", "lines"});
  EXPECT_EQ(stream.exit, 0);
  EXPECT_GT(stream.out.size(), 1u << 20);
}

TEST_F(KvctlTest, IfAbsentLeavesValuesAlone) {
  ASSERT_EQ(Kvctl({"put", "a", "old"}).exit, 0);
  const KvctlResult import =
      Kvctl({"import", "--format", "lines", "--if-absent"}, "a\tnew\nb\tnew\n");
  EXPECT_EQ(import.exit, 0);
  EXPECT_THAT(import.out, ContainsRegex("skipped +1\n"));
  EXPECT_EQ(Kvctl({"get", "a", "--raw"}).out, "old");
  EXPECT_EQ(Kvctl({"get", "b", "--raw"}).out, "new");
}

}  // namespace
}  // namespace dunlin::kvctl
