#include "bench/kvbench/driver/interrupts.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

sigset_t Both() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

absl::StatusOr<Interrupts> Interrupts::Make() {
  const sigset_t set = Both();
  const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr);
  UniqueFd fd(error == 0 ? signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC) : -1);
  if (fd.get() < 0) {
    return MakeStatus(absl::StatusCode::kInternal,
                      std::string("signalfd: ") + strerror(error == 0 ? errno : error));
  }
  return Interrupts(std::move(fd));
}

bool Interrupts::Take() {
  signalfd_siginfo info;
  if (read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return false;
  const sigset_t set = Both();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  taken_ = true;
  return true;
}

}  // namespace dunlin::kvbench
