#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "bench/kvbench/binding.h"
#include "bench/kvbench/driver/run_plan.h"
#include "bench/kvbench/measure/recorder.h"
#include "bench/kvbench/measure/tick_clock.h"
#include "bench/kvbench/workload/operations.h"

namespace dunlin::kvbench {

// What the threads of a phase share.
struct Team {
  Team(Workload& workload, const RunPlan& plan, const TickClock& clock)
      : workload(workload), plan(plan), clock(clock), start(plan.threads + 1) {}

  Workload& workload;
  const RunPlan& plan;
  const TickClock& clock;
  std::latch start;  // all threads, and whoever runs the phase
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> finished{0};
};

// A thread of a phase.
class Worker {
 public:
  // `operations` of its own; 0: no end. `done` runs in the thread when it has ended.
  Worker(Team& team, std::unique_ptr<BindingSession> session, uint64_t index, uint64_t operations);

  void Start(std::function<void()> done);
  void Join() { thread_.join(); }
  // Closes the session. After Join().
  void Close() { session_.reset(); }

  Recorder& recorder() { return recorder_; }
  // While there is a session, and the thread isn't running.
  const BindingSession& session() const { return *session_; }
  const std::string& trouble() const { return operations_.trouble(); }

 private:
  void Run();
  void WaitUntil(uint64_t ticks) const;

  Team& team_;
  std::unique_ptr<BindingSession> session_;
  Recorder recorder_;
  Operations operations_;
  uint64_t index_;
  uint64_t count_;
  uint64_t spin_nanos_;
  std::thread thread_;
};

}  // namespace dunlin::kvbench
