#include "tests/linearizability/client_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/status.h"

extern char** environ;

namespace dunlin::testing {

absl::StatusOr<std::unique_ptr<ClientProcess>> ClientProcess::Start(const std::string& binary,
                                                                    const std::string& target,
                                                                    const std::string& folder,
                                                                    uint64_t capacity,
                                                                    const WorkloadPlan& plan) {
  auto client = std::unique_ptr<ClientProcess>(new ClientProcess());
  client->number_ = plan.client;
  const std::string& file = client->file_ = folder + "/recording-" + std::to_string(plan.client);
  DUNLIN_ASSIGN_OR_RETURN(client->recording_, Recording::Open(file, capacity));
  std::vector<std::string> words = {binary,
                                    target,
                                    file,
                                    std::to_string(plan.seed),
                                    std::to_string(plan.client),
                                    plan.prefix,
                                    std::to_string(plan.hot_keys),
                                    std::to_string(plan.spread_keys),
                                    std::to_string(plan.largest_value)};
  if (plan.stale) words.push_back("stale");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error =
      posix_spawn(&client->pid_, binary.c_str(), nullptr, nullptr, argv.data(), environ);
  if (error != 0) {
    client->pid_ = -1;
    return absl::NotFoundError("cannot start " + binary + ": " + std::strerror(error));
  }
  client->pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, client->pid_, 0)));
  return client;
}

ClientProcess::~ClientProcess() {
  Kill();
  unlink(file_.c_str());
}

void ClientProcess::Stop() {
  if (!running()) return;
  kill(pid_, SIGSTOP);
  stopped_ = was_stopped_ = true;
}

void ClientProcess::Continue() {
  if (running()) kill(pid_, SIGCONT);
  stopped_ = false;
}

void ClientProcess::AskToEnd() { __atomic_store_n(&header().stop, 1, __ATOMIC_RELAXED); }

void ClientProcess::Kill() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  Reap();
}

int ClientProcess::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  stopped_ = false;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace dunlin::testing
