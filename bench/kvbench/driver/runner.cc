#include "bench/kvbench/driver/runner.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "bench/kvbench/driver/worker.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvbench {
namespace {

// From when the threads are asked for their measurements until they are collected.
constexpr int64_t kCollectNanos = 5'000'000;

uint64_t CpuNanos() {
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  const auto nanos = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(time.tv_usec) * 1000;
  };
  return nanos(use.ru_utime) + nanos(use.ru_stime);
}

FabricCounts Sum(const std::vector<std::unique_ptr<Worker>>& workers) {
  FabricCounts sum{.known = true};
  for (const auto& worker : workers) {
    const FabricCounts counts = worker->session().fabric();
    sum.known &= counts.known;
    sum.operations += counts.operations;
    sum.round_trips += counts.round_trips;
    sum.verbs += counts.verbs;
  }
  return sum;
}

FabricCounts Between(const FabricCounts& before, const FabricCounts& after) {
  return {.known = before.known && after.known,
          .operations = after.operations - before.operations,
          .round_trips = after.round_trips - before.round_trips,
          .verbs = after.verbs - before.verbs};
}

// One phase: its threads work, this one looks after them.
class Run {
 public:
  Run(const RunContext& context, Workload& workload, const RunPlan& plan)
      : context_(context),
        plan_(plan),
        team_(workload, plan, context.clock),
        outcome_(Empty()),
        interval_(Empty()) {}

  absl::Status Open();
  RunOutcome Go();

 private:
  MetricSet Empty() const { return MetricSet(plan_.target > 0, plan_.apart, plan_.keep); }
  int64_t Now() const { return SystemClock::Shared().NowNanos() - start_; }
  void Start();
  void Watch();
  void Wait(int64_t nanos);
  void AskAll();
  void EndInterval();
  void Finish();
  void Close();

  const RunContext& context_;
  const RunPlan& plan_;
  Team team_;
  UniqueFd finished_;  // readable when all threads have ended
  std::vector<std::unique_ptr<Worker>> workers_;
  RunOutcome outcome_;
  MetricSet interval_;
  int64_t start_ = 0;
  int64_t interval_start_ = 0, interval_end_ = 0;
  uint64_t counted_ = 0, asked_at_ = 0;  // operations: at the last interval's end; when last asked
};

absl::Status Run::Open() {
  finished_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (finished_.get() < 0) {
    return MakeStatus(absl::StatusCode::kInternal, std::string("eventfd: ") + strerror(errno));
  }
  const uint64_t each = plan_.operations / plan_.threads, more = plan_.operations % plan_.threads;
  for (uint32_t i = 0; i < plan_.threads; ++i) {
    DUNLIN_ASSIGN_OR_RETURN(std::unique_ptr<BindingSession> session, context_.binding.Open());
    workers_.push_back(
        std::make_unique<Worker>(team_, std::move(session), i, each + (i < more ? 1 : 0)));
  }
  return absl::OkStatus();
}

void Run::Start() {
  for (const auto& worker : workers_) {
    worker->Start([this] {
      if (team_.finished.fetch_add(1) + 1 < plan_.threads) return;
      const uint64_t one = 1;
      // Can't fail: the counter of a new eventfd is 0.
      (void)!write(finished_.get(), &one, sizeof(one));
    });
  }
  outcome_.started_unix_nanos = SystemClock::Shared().WallNanos();
  start_ = SystemClock::Shared().NowNanos();
  team_.start.arrive_and_wait();
}

// Waits at most so long, for the end or an interrupt.
void Run::Wait(int64_t nanos) {
  pollfd fds[2] = {{.fd = finished_.get(), .events = POLLIN, .revents = 0},
                   {.fd = -1, .events = POLLIN, .revents = 0}};
  const bool watched = context_.interrupts != nullptr && !context_.interrupts->taken();
  if (watched) fds[1].fd = context_.interrupts->fd();
  const int64_t milliseconds = std::clamp<int64_t>((nanos + 999'999) / 1'000'000, 0, 1000);
  poll(fds, 2, static_cast<int>(milliseconds));
  if (watched && context_.interrupts->Take()) {
    outcome_.interrupted = true;
    team_.stop = true;
  }
}

void Run::AskAll() {
  asked_at_ = 0;
  for (const auto& worker : workers_) {
    worker->recorder().Ask();
    asked_at_ += worker->recorder().operations();
  }
}

// Until all threads have ended.
void Run::Watch() {
  const auto length = static_cast<int64_t>(plan_.interval_seconds * 1e9);
  const auto limit = static_cast<int64_t>(plan_.max_seconds * 1e9);
  int64_t next = length;
  bool asked = false;
  while (team_.finished < plan_.threads) {
    const int64_t now = Now();
    if (limit > 0 && now >= limit) team_.stop = true;
    if (!asked && now >= next) {
      AskAll();
      asked = true;
      interval_end_ = now;
    } else if (asked && now >= interval_end_ + kCollectNanos) {
      for (const auto& worker : workers_) worker->recorder().Collect(interval_);
      EndInterval();
      asked = false;
      // Intervals that passed while this thread had no core are one with the last.
      while (next <= now) next += length;
    }
    int64_t until = asked ? interval_end_ + kCollectNanos : next;
    if (limit > 0 && now < limit) until = std::min(until, limit);
    Wait(until - now);
  }
}

// `interval_` and `asked_at_` are of the time up to `interval_end_`.
void Run::EndInterval() {
  const IntervalView view{.end_seconds = static_cast<double>(interval_end_) / 1e9,
                          .seconds = static_cast<double>(interval_end_ - interval_start_) / 1e9,
                          .operations = asked_at_ - counted_,
                          .operations_so_far = asked_at_,
                          .metrics = interval_};
  for (RunObserver* observer : context_.observers) observer->OnInterval(view);
  outcome_.metrics.Merge(interval_);
  interval_.Reset();
  interval_start_ = interval_end_;
  counted_ = asked_at_;
}

void Run::Finish() {
  interval_end_ = Now();
  outcome_.seconds = static_cast<double>(interval_end_) / 1e9;
  for (const auto& worker : workers_) {
    worker->Join();
    worker->recorder().CollectRest(interval_);
    outcome_.operations += worker->recorder().operations();
  }
  asked_at_ = outcome_.operations;
  EndInterval();
}

void Run::Close() {
  for (const auto& worker : workers_) {
    const std::string error = worker->session().last_error();
    for (const std::string& trouble : {worker->trouble(), error}) {
      auto& all = outcome_.troubles;
      if (!trouble.empty() && std::find(all.begin(), all.end(), trouble) == all.end()) {
        all.push_back(trouble);
      }
    }
    const uint64_t start = context_.clock.Now();
    worker->Close();
    const uint64_t nanos = context_.clock.ToNanos(context_.clock.Now() - start);
    outcome_.metrics.Record(MetricId::kCleanup, 0, nanos, nanos);
  }
}

RunOutcome Run::Go() {
  const FabricCounts counts = Sum(workers_);
  outcome_.before = context_.binding.Use();
  const uint64_t cpu = CpuNanos();
  Start();
  Watch();
  Finish();
  outcome_.client_cpu_nanos = CpuNanos() - cpu;
  outcome_.after = context_.binding.Use();
  outcome_.fabric = Between(counts, Sum(workers_));
  Close();
  return std::move(outcome_);
}

}  // namespace

absl::StatusOr<RunOutcome> RunPhase(const RunContext& context, Workload& workload,
                                    const RunPlan& plan) {
  Run run(context, workload, plan);
  DUNLIN_RETURN_IF_ERROR(run.Open());
  return run.Go();
}

}  // namespace dunlin::kvbench
