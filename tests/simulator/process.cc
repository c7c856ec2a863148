#include "tests/simulator/process.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace dunlin::simulator {
namespace {

constexpr int64_t kDeadStep = 100 * kMillisecond;

}  // namespace

Process::Process(World* world, const Faults* faults, uint32_t number)
    : world_(*world), faults_(*faults), number_(number) {
  if (faults_.drift_ppm != 0) {
    const auto most = static_cast<uint64_t>(faults_.drift_ppm);
    drift_ppm_ = static_cast<int64_t>(world_.random().Below(2 * most + 1)) - faults_.drift_ppm;
  }
  jumped_ = static_cast<int64_t>(world_.random().Below(1000)) * kSecond;
}

void Process::Start(std::function<void()> body) {
  fiber_ = std::make_unique<Fiber>(std::move(body));
  blocked_ = true;
  world_.After(0, [this, ticket = ticket_] { Resume(ticket); });
}

int64_t Process::Shown() const {
  return world_.now() + world_.now() / 1'000'000 * drift_ppm_ + jumped_;
}

int64_t Process::NowNanos() const {
  if (dead_) return Shown() + (self_->raced_ += kDeadStep);
  if (running_) self_->MayPause();
  return Shown() + (dead_ ? self_->raced_ += kDeadStep : 0);
}

void Process::MayPause() {
  if (dead_ || faults_.pause_one_in == 0 || !world_.random().OneIn(faults_.pause_one_in)) return;
  const auto time =
      1 + static_cast<int64_t>(world_.random().Below(static_cast<uint64_t>(faults_.longest_pause)));
  held_ += time;
  Block(world_.now() + time);
}

void Process::Block(int64_t until) {
  if (dead_) return;
  DUNLIN_CHECK(running_);
  blocked_ = true;
  const uint64_t ticket = ++ticket_;
  world_.At(std::max(until, world_.now()), [this, ticket] { Resume(ticket); });
  fiber_->Yield();
}

void Process::Wake() {
  if (!blocked_) return;
  world_.After(0, [this, ticket = ticket_] { Resume(ticket); });
}

void Process::Resume(uint64_t ticket) {
  if (ticket != ticket_ || !blocked_) return;
  if (!dead_ && world_.now() < stopped_until_) {
    held_since_ = std::min(held_since_, world_.now());
    world_.At(stopped_until_, [this, ticket] { Resume(ticket); });
    return;
  }
  if (held_since_ != kNever) held_ += world_.now() - held_since_;
  held_since_ = kNever;
  blocked_ = false;
  running_ = true;
  fiber_->Resume();
  running_ = false;
}

void Process::Stop(int64_t until) { stopped_until_ = std::max(stopped_until_, until); }

void Process::Kill() {
  if (dead_ || ended()) return;
  DUNLIN_CHECK(!running_);
  dead_ = true;
  if (when_killed_) when_killed_();
  Wake();
}

}  // namespace dunlin::simulator
