// How the server starts, and how it refuses to: each refusal has an exit code and says what to do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/end_to_end/server/raw_client.h"
#include "tests/end_to_end/server/server_run.h"
#include "tests/support/server_process.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ServerRun RunWith(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  return RunServer({.arguments = std::move(arguments), .environment = std::move(environment)});
}

std::unique_ptr<ServerProcess> Start(std::vector<std::string> more = {}) {
  auto server = ServerProcess::Start(
      {.binary = DUNLIN_SERVER_BINARY, .memory = "64MiB", .more = std::move(more)});
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

TEST(ServerStartUp, HelpVersionAndConfig) {
  ServerRun help = RunWith({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output,
              AllOf(HasSubstr("--memory"), HasSubstr("--region-dir"), HasSubstr("Exit codes")));
  ServerRun version = RunWith({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.output, HasSubstr("dunlin-server "));
  ServerRun config = RunWith({"--print-config", "--memory", "2GiB"}, {"DUNLIN_GRACE=500ms"});
  EXPECT_EQ(config.code, 0);
  EXPECT_THAT(config.output, AllOf(HasSubstr("memory = 2GiB"), HasSubstr("grace = 500ms"),
                                   HasSubstr("DUNLIN_GRACE"), HasSubstr("default")));
}

TEST(ServerStartUp, WrongOptionsExitWithTwo) {
  ServerRun unknown = RunWith({"--memroy", "1GiB"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, AllOf(HasSubstr("memroy"), HasSubstr("memory")));
  EXPECT_EQ(RunWith({"--memory", "much"}).code, 2);
  EXPECT_EQ(RunWith({"--socket", "relative"}).code, 2);
  ServerRun variable = RunWith({"--version-of-nothing"});
  EXPECT_EQ(variable.code, 2);
  EXPECT_EQ(RunWith({}, {"DUNLIN_MEMROY=1GiB"}).code, 2) << "also in the environment";
  TemporaryFolder folder;
  std::ofstream(folder.path() + "/conf") << "no-such-option = 1\n";
  ServerRun file = RunWith({"--config", folder.path() + "/conf"});
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.output, HasSubstr("conf:1"));
}

TEST(ServerStartUp, MemoryThatCannotHoldTheIndex) {
  TemporaryFolder folder;
  ServerRun run =
      RunWith({"--socket", folder.path() + "/s", "--memory", "16MiB", "--records", "10000000"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("raise memory"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/s")) << "no socket is left behind";
}

TEST(ServerStartUp, ASecondServerOnASocketIsRefusedAndTheFirstGoesOn) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  ServerRun second = RunWith({"--socket", server->socket(), "--memory", "64MiB"});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.output, HasSubstr("another server"));
  EXPECT_TRUE(RawClient(server->socket()).Ping());
}

TEST(ServerStartUp, AfterKillNineTheSocketIsTakenOver) {
  auto server = Start();
  ASSERT_NE(server, nullptr);
  RawClient before(server->socket());
  ASSERT_TRUE(before.Hello());
  server->Kill();
  EXPECT_TRUE(before.IsClosed()) << "the client notices";
  EXPECT_EQ(before.superblock().magic, kSuperblockMagic) << "its mapping outlives the server";
  ASSERT_TRUE(server->Restart().ok());
  RawClient after(server->socket());
  ASSERT_TRUE(after.Hello());
  EXPECT_NE(after.hello().incarnation(), before.hello().incarnation());
  EXPECT_EQ(after.superblock().incarnation, after.hello().incarnation());
}

TEST(ServerStartUp, SocketMode) {
  auto server = Start({"--socket-mode", "0606"});
  ASSERT_NE(server, nullptr);
  struct stat info {};
  ASSERT_EQ(stat(server->socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0606u);
}

// Unmounts what it mounted.
class SmallTmpfs {
 public:
  explicit SmallTmpfs(const std::string& at) : at_(at) {
    mounted_ = mount("tmpfs", at.c_str(), "tmpfs", 0, "size=16m") == 0;
  }
  ~SmallTmpfs() {
    if (mounted_) umount2(at_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  std::string at_;
  bool mounted_;
};

TEST(ServerStartUp, MoreMemoryThanThereIsIsAnErrorAndKillsNobody) {
  TemporaryFolder folder;
  ServerRun run =
      RunWith({"--socket", folder.path() + "/s", "--memory", "511GiB", "--huge-pages", "never"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("wanted 511"), HasSubstr("available"), HasSubstr("lower memory")));
}

TEST(ServerStartUp, AFullRegionDirIsAnErrorAtTheStart) {
  TemporaryFolder folder;
  std::string at = folder.path() + "/small";
  ASSERT_TRUE(std::filesystem::create_directory(at));
  SmallTmpfs tmpfs(at);
  if (!tmpfs.mounted()) GTEST_SKIP() << "cannot mount a tmpfs here (needs root)";
  ServerRun run =
      RunWith({"--socket", folder.path() + "/s", "--memory", "64MiB", "--region-dir", at});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("wanted 64"), HasSubstr("16"), HasSubstr(at),
                                HasSubstr("lower memory")));
  ServerRun fits = RunWith({"--print-config", "--region-dir", at});
  EXPECT_EQ(fits.code, 0);
}

TEST(ServerStartUp, ARegionDirThatHoldsIt) {
  TemporaryFolder folder;
  auto server = Start({"--region-dir", folder.path()});
  ASSERT_NE(server, nullptr);
  RawClient client(server->socket());
  EXPECT_TRUE(client.Hello());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing to clean up after a crash";
}

TEST(ServerStartUp, TheLimitOfLockedMemoryIsCheckedFirst) {
  TemporaryFolder folder;
  bool root = geteuid() == 0;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  ServerRun run = RunServer(
      {.arguments = {"--socket", folder.path() + "/s", "--memory", "64MiB", "--lock-memory"},
       .environment = {},
       .as_nobody = root,
       .memlock_bytes = 65536});
  if (run.code == 121) GTEST_SKIP() << "another user cannot run the binary where it lies";
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("RLIMIT_MEMLOCK"), HasSubstr("ulimit -l")));
}

TEST(ServerStartUp, HugePagesThatMustBe) {
  TemporaryFolder folder;
  ServerRun run =
      RunWith({"--socket", folder.path() + "/s", "--memory", "500GiB", "--huge-pages", "always"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("sysctl vm.nr_hugepages="));
}

TEST(ServerStartUp, TheLogAsJson) {
  auto server = Start({"--log-format", "json"});
  ASSERT_NE(server, nullptr);
  EXPECT_THAT(server->Log(), HasSubstr("\"level\":\"info\""));
}

}  // namespace
}  // namespace dunlin::testing
