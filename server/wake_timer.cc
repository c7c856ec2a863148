#include "server/wake_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "common/base/check.h"
#include "common/base/status.h"

namespace dunlin {

absl::Status WakeTimer::Open() {
  timer_.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_.valid()) return absl::ErrnoToStatus(errno, "timerfd_create");
  return absl::OkStatus();
}

void WakeTimer::Take() {
  uint64_t expirations;
  // Nothing to be read: it was set anew in between.
  (void)!read(timer_.get(), &expirations, sizeof expirations);
}

void WakeTimer::Every(int milliseconds) {
  if (milliseconds == period_) return;
  period_ = milliseconds;
  itimerspec spec{};
  spec.it_interval.tv_sec = milliseconds / 1000;
  spec.it_interval.tv_nsec = milliseconds % 1000 * 1'000'000L;
  spec.it_value = spec.it_interval;
  DUNLIN_CHECK_EQ(timerfd_settime(timer_.get(), 0, &spec, nullptr), 0);
}

}  // namespace dunlin
