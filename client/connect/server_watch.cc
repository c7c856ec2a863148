#include "client/connect/server_watch.h"

#include <algorithm>
#include <utility>

#include "client/connect/read_by_chain.h"
#include "common/base/backoff.h"

namespace dunlin {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kFirstRetryNanos = 20'000'000;
constexpr int64_t kLongestRetryNanos = 2'000'000'000;
constexpr int kManyRetries = 1 << 30;
constexpr milliseconds kGoodbye{50};

}  // namespace

ServerWatch::ServerWatch(std::shared_ptr<Opener> opener, std::string name, milliseconds timeout,
                         std::shared_ptr<ServerHealth> health)
    : opener_(std::move(opener)),
      name_(std::move(name)),
      timeout_(timeout),
      health_(std::move(health)),
      thread_([this] { Run(); }) {}

ServerWatch::~ServerWatch() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool ServerWatch::PauseFor(milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return ending_; });
}

void ServerWatch::Run() {
  Backoff backoff({kFirstRetryNanos, kLongestRetryNanos, kManyRetries},
                  static_cast<uint64_t>(SystemClock().NowNanos()));
  bool believed_alive = true;
  for (;;) {
    Opener::Request request;
    request.name = name_;
    request.read_only = true;
    auto parts = opener_->OpenSession(request, Deadline::After(timeout_));
    if (parts.ok()) {
      backoff.Reset();
      if (ReadTicks(**parts)) return;
    }
    // One that answers, if only to refuse the watch, is there.
    const bool refused = !parts.ok() && !absl::IsUnavailable(parts.status()) &&
                         !absl::IsDeadlineExceeded(parts.status());
    if (!refused && (parts.ok() || believed_alive)) health_->CountLoss();
    believed_alive = refused;
    const int64_t delay = backoff.NextNanos().value_or(kLongestRetryNanos);
    if (PauseFor(milliseconds(delay / 1'000'000))) return;
  }
}

bool ServerWatch::ReadTicks(SessionParts& parts) {
  for (;;) {
    if (PauseFor(std::max(milliseconds(1), timeout_ / 4))) {
      parts.lane->Goodbye(Deadline::After(kGoodbye)).IgnoreError();
      return true;
    }
    uint64_t tick = 0;
    if (!ReadByChain(*parts.channel, offsetof(Superblock, tick),
                     std::as_writable_bytes(std::span(&tick, 1)), Deadline::After(timeout_ / 2))
             .ok()) {
      return false;
    }
  }
}

}  // namespace dunlin
