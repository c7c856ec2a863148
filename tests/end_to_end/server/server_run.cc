#include "tests/end_to_end/server/server_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "common/base/check.h"
#include "common/base/unique_fd.h"

extern char** environ;

namespace dunlin::testing {
namespace {

constexpr int kLimitMs = 30'000;
constexpr uid_t kNobody = 65534;

// In the child, after fork: system calls only.
[[noreturn]] void Become(const RunOptions& options, int out, char* const* argv, char* const* envp) {
  dup2(out, 1);
  dup2(out, 2);
  // Should a test of too much memory go wrong, the server is what the kernel kills for it.
  UniqueFd score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score.valid() && write(score.get(), "1000", 4) != 4) _exit(122);
  if (options.memlock_bytes != ~uint64_t{0}) {
    rlimit limit{options.memlock_bytes, options.memlock_bytes};
    setrlimit(RLIMIT_MEMLOCK, &limit);
  }
  if (options.as_nobody && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(120);
  execve(DUNLIN_SERVER_BINARY, argv, envp);
  _exit(121);
}

int Reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

ServerRun RunServer(const RunOptions& options) {
  std::vector<std::string> words = {DUNLIN_SERVER_BINARY};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = options.environment;
  std::vector<char*> envp;
  for (char** entry = environ; *entry != nullptr; ++entry) envp.push_back(*entry);
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  int ends[2];
  DUNLIN_CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  pid_t pid = fork();
  DUNLIN_CHECK_GE(pid, 0);
  if (pid == 0) Become(options, out.get(), argv.data(), envp.data());
  out.Reset();

  ServerRun run;
  char buffer[4096];
  bool killed = false;
  for (;;) {
    pollfd ready{in.get(), POLLIN, 0};
    if (poll(&ready, 1, kLimitMs) == 0) {
      kill(pid, SIGKILL);
      killed = true;
      break;
    }
    ssize_t n = read(in.get(), buffer, sizeof buffer);
    if (n <= 0) break;
    run.output.append(buffer, static_cast<size_t>(n));
  }
  run.code = Reap(pid);
  if (killed) run.code = -1;
  return run;
}

}  // namespace dunlin::testing
