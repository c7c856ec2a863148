#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "bench/kvbench/generators/acknowledged_counter.h"
#include "bench/kvbench/workload/key_chooser.h"
#include "bench/kvbench/workload/workload_config.h"

namespace dunlin::kvbench {

enum class Phase : uint8_t { kLoad, kRun };

// What all threads of one phase share. Thread safe.
class Workload {
 public:
  Workload(WorkloadConfig config, Phase phase)
      : config_(std::move(config)),
        next_to_load_(config_.insert_start),
        inserted_(config_.record_count) {
    if (phase == Phase::kRun) chooser_.emplace(config_, &inserted_, &sequence_);
  }
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const WorkloadConfig& config() const { return config_; }
  // The number of the next record to load.
  int64_t NextToLoad() { return next_to_load_.fetch_add(1, std::memory_order_relaxed); }
  AcknowledgedCounter& inserted() { return inserted_; }
  // A thread's own; unset when loading.
  std::optional<KeyChooser> NewChooser() const { return chooser_; }

 private:
  const WorkloadConfig config_;
  std::atomic<int64_t> next_to_load_;
  std::atomic<int64_t> sequence_{0};
  AcknowledgedCounter inserted_;
  std::optional<KeyChooser> chooser_;
};

}  // namespace dunlin::kvbench
