#include "tests/support/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/unique_fd.h"
#include "dunlin/client.h"

extern char** environ;

namespace dunlin::testing {
namespace {

constexpr int64_t kReadyNanos = 60'000'000'000;

}  // namespace

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(const Options& options) {
  auto server = std::unique_ptr<ServerProcess>(new ServerProcess());
  server->options_ = options;
  std::string pattern = (std::filesystem::temp_directory_path() / "dunlin-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::InternalError("mkdtemp: " + std::string(std::strerror(errno)));
  }
  server->folder_ = pattern;
  server->socket_ = pattern + "/dunlin.sock";
  DUNLIN_RETURN_IF_ERROR(server->Launch());
  return server;
}

ServerProcess::~ServerProcess() {
  Kill();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

absl::Status ServerProcess::Launch() {
  std::vector<std::string> words = {options_.binary, "--socket", socket_, "--memory",
                                    options_.memory};
  words.insert(words.end(), options_.more.begin(), options_.more.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string log = folder_ + "/log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  int error = posix_spawn(&pid_, options_.binary.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    return absl::NotFoundError("cannot start " + options_.binary + ": " + std::strerror(error));
  }
  return WaitReady();
}

absl::Status ServerProcess::WaitReady() {
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  SystemClock clock;
  int64_t give_up = clock.NowNanos() + kReadyNanos;
  absl::Status last;
  while (clock.NowNanos() < give_up) {
    auto client = Client::Connect(target());
    if (client.ok()) return absl::OkStatus();
    last = client.status();
    pollfd gone{process.get(), POLLIN, 0};
    if (poll(&gone, 1, 10) > 0) {
      Reap();
      return absl::UnavailableError("the server ended at its start: " + Log());
    }
  }
  return absl::DeadlineExceededError("the server is not ready: " + last.ToString() + "\n" + Log());
}

std::string ServerProcess::Log() const {
  std::ifstream file(folder_ + "/log");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int ServerProcess::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ServerProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  Reap();
}

int ServerProcess::Terminate() {
  if (pid_ <= 0) return -1;
  kill(pid_, SIGTERM);
  return Reap();
}

absl::Status ServerProcess::Restart() { return Launch(); }

int64_t ServerProcess::CpuNanos() const {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace dunlin::testing
