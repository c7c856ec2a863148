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

TestFabric FabricUnderTest() {
  const char* asked = std::getenv("TEST_FABRIC");
  const std::string name = asked == nullptr ? "shm" : asked;
  if (name == "shm") return {};
  if (name == "tcp") return {"tcp", "127.0.0.1"};
  const char* listed = std::getenv("RDMA_TEST_ADDRESSES");
  std::istringstream addresses(listed == nullptr ? "" : listed);
  for (std::string each; addresses >> each;) {
    if (each.starts_with(name + "=")) return {"rdma", each.substr(name.size() + 1)};
  }
  return {"no " + name + " here", ""};
}

std::string ServerProcess::target() const {
  if (options_.fabric.name == "shm") return "shm://" + socket_;
  return options_.fabric.name + "://" + options_.fabric.address + ":" + port_;
}

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(const Options& options) {
  auto server = std::unique_ptr<ServerProcess>(new ServerProcess());
  server->options_ = options;
  server->socket_ = server->folder() + "/dunlin.sock";
  DUNLIN_RETURN_IF_ERROR(server->Launch());
  return server;
}

ServerProcess::~ServerProcess() { Kill(); }

absl::Status ServerProcess::Launch() {
  std::vector<std::string> words = {options_.binary, "--socket", socket_, "--memory",
                                    options_.memory};
  if (options_.fabric.name != "shm") {
    words.push_back("--" + options_.fabric.name);
    words.push_back(options_.fabric.address + ":" + port_);
  }
  words.insert(words.end(), options_.more.begin(), options_.more.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string log = folder() + "/log";
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
    if (LearnPort()) {
      auto client = Client::Connect(target());
      if (client.ok()) return absl::OkStatus();
      last = client.status();
    }
    pollfd gone{process.get(), POLLIN, 0};
    if (poll(&gone, 1, 10) > 0) {
      Reap();
      return absl::UnavailableError("the server ended at its start: " + Log());
    }
  }
  return absl::DeadlineExceededError("the server is not ready: " + last.ToString() + "\n" + Log());
}

// The server was told to take any free port, and says in its log which.
bool ServerProcess::LearnPort() {
  if (port_ != "0" || options_.fabric.name == "shm") return true;
  const std::string log = Log();
  const std::string before =
      "listening at " + options_.fabric.name + "://" + options_.fabric.address + ":";
  const size_t at = log.find(before);
  if (at == std::string::npos) return false;
  const size_t from = at + before.size();
  const size_t end = log.find_first_not_of("0123456789", from);
  if (end == std::string::npos) return false;
  port_ = log.substr(from, end - from);
  return true;
}

std::string ServerProcess::Log() const {
  std::ifstream file(folder() + "/log");
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
