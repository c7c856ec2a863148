#include "tests/end_to_end/kvctl/kvctl_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <iterator>

extern char** environ;

namespace dunlin::kvctl {

void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  ASSERT_TRUE(file.good()) << path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

KvctlResult RunKvctl(const std::string& folder, const std::vector<std::string>& arguments,
                     std::string_view input) {
  const std::string streams[] = {folder + "/stdin", folder + "/stdout", folder + "/stderr"};
  WriteFile(streams[0], input);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, streams[0].c_str(), O_RDONLY, 0);
  for (int fd : {1, 2}) {
    posix_spawn_file_actions_addopen(&actions, fd, streams[fd].c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  std::vector<std::string> words = {DUNLIN_KVCTL_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, DUNLIN_KVCTL_BINARY, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << DUNLIN_KVCTL_BINARY;
  if (error != 0) return {};
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(WIFEXITED(status)) << "kvctl died by signal " << WTERMSIG(status);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(streams[1]), ReadFile(streams[2])};
}

void KvctlTest::StartServer(const std::string& memory, std::vector<std::string> more) {
  server_.reset();
  auto server = testing::ServerProcess::Start(
      {DUNLIN_SERVER_BINARY, memory, std::move(more), testing::FabricUnderTest()});
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
}

}  // namespace dunlin::kvctl
