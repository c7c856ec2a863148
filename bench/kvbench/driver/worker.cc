#include "bench/kvbench/driver/worker.h"

#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "common/base/random.h"

namespace dunlin::kvbench {
namespace {

// A timer wakes later than it was set, by up to so much; the rest is spun, if there is a core for
// it.
constexpr uint64_t kTimerNanos = 60'000;
constexpr uint64_t kLongestPause = 50'000'000;
// Below it a pause is none.
constexpr uint64_t kShortestPause = 50'000;

}  // namespace

Worker::Worker(Team& team, std::unique_ptr<BindingSession> session, uint64_t index,
               uint64_t operations)
    : team_(team),
      session_(std::move(session)),
      recorder_(team.plan.target > 0, team.plan.apart, team.plan.keep),
      operations_(team.workload, *session_, recorder_, team.clock, team.plan.batch, index,
                  team.stop),
      index_(index),
      count_(operations),
      spin_nanos_(team.plan.threads < std::thread::hardware_concurrency() ? kTimerNanos : 0) {}

void Worker::Start(std::function<void()> done) {
  thread_ = std::thread([this, done = std::move(done)] {
    // Fails only where the kernel is older than the call; then timers are 50 us less exact.
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    team_.start.arrive_and_wait();
    Run();
    done();
  });
}

void Worker::Run() {
  const RunPlan& plan = team_.plan;
  const TickClock& clock = team_.clock;
  const double per_thread = plan.target / plan.threads;
  const double tick = per_thread > 0 ? 1e9 / per_thread : 0;
  if (tick > 0 && per_thread <= 1000) {
    // As YCSB: threads that seldom have something to do don't all do it at once.
    Random random(team_.workload.config().seed + index_);
    WaitUntil(clock.Now() + clock.FromNanos(random.Below(static_cast<uint64_t>(tick) + 1)));
  }
  const uint64_t start = clock.Now();
  uint64_t done = 0;
  while ((count_ == 0 || done < count_) && !team_.stop.load(std::memory_order_relaxed)) {
    const size_t batch = count_ == 0 ? plan.batch : std::min<uint64_t>(plan.batch, count_ - done);
    uint64_t due = 0;
    if (tick > 0 && done > 0) {
      due = start + clock.FromNanos(static_cast<uint64_t>(static_cast<double>(done) * tick));
      WaitUntil(due);
      if (team_.stop.load(std::memory_order_relaxed)) break;
    }
    const bool go_on = plan.phase == Phase::kLoad ? operations_.Load(batch, due)
                                                  : operations_.Transact(batch, due);
    done += batch;
    recorder_.Offer(done);
    if (!go_on) break;
  }
}

void Worker::WaitUntil(uint64_t ticks) const {
  const TickClock& clock = team_.clock;
  for (uint64_t now = clock.Now(); now < ticks; now = clock.Now()) {
    if (team_.stop.load(std::memory_order_relaxed)) return;
    const uint64_t left = clock.ToNanos(ticks - now);
    if (team_.plan.spin || left <= spin_nanos_ + kShortestPause) continue;
    const uint64_t pause = std::min(left - spin_nanos_, kLongestPause);
    SystemClock::Shared().Pause(static_cast<int64_t>(pause));
  }
}

}  // namespace dunlin::kvbench
