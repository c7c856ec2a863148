#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "bench/kvbench/measure/metric_set.h"

namespace dunlin::kvbench {

// One thread's measurements, which another one collects from time to time without making it wait:
// the two exchange whole sets.
class Recorder {
 public:
  // As MetricSet's.
  explicit Recorder(bool scheduled, uint32_t apart = 0, Keep keep = Keep::kNone)
      : recording_(std::make_unique<MetricSet>(scheduled, apart, keep)),
        spare_(new MetricSet(scheduled, apart, keep)) {}
  ~Recorder() {
    delete spare_.load();
    delete full_.load();
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // --- the thread's side
  MetricSet& set() { return *recording_; }
  // Between two operations: hands over what was recorded, if it was asked for.
  void Offer(uint64_t operations) {
    operations_.store(operations, std::memory_order_relaxed);
    if (wanted_.load(std::memory_order_relaxed)) HandOver();
  }

  // --- the collector's side; one thread
  void Ask() { wanted_.store(true, std::memory_order_release); }
  // Merges what was handed over since into `to`. False: nothing yet, as the thread is within an
  // operation.
  bool Collect(MetricSet& to);
  // All the rest. REQUIRES: the thread has ended.
  void CollectRest(MetricSet& to);
  uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }

 private:
  void HandOver();

  std::unique_ptr<MetricSet> recording_;
  alignas(64) std::atomic<uint64_t> operations_{0};
  alignas(64) std::atomic<bool> wanted_{false};
  std::atomic<MetricSet*> full_{nullptr};
  std::atomic<MetricSet*> spare_;
};

}  // namespace dunlin::kvbench
