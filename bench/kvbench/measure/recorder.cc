#include "bench/kvbench/measure/recorder.h"

namespace dunlin::kvbench {

void Recorder::HandOver() {
  wanted_.store(false, std::memory_order_relaxed);
  // None: the last one has not been collected, and this interval goes with the next.
  MetricSet* spare = spare_.exchange(nullptr, std::memory_order_acquire);
  if (spare == nullptr) return;
  full_.store(recording_.release(), std::memory_order_release);
  recording_.reset(spare);
}

bool Recorder::Collect(MetricSet& to) {
  MetricSet* full = full_.exchange(nullptr, std::memory_order_acquire);
  if (full == nullptr) return false;
  to.Merge(*full);
  full->Reset();
  spare_.store(full, std::memory_order_release);
  return true;
}

void Recorder::CollectRest(MetricSet& to) {
  Collect(to);
  to.Merge(*recording_);
  recording_->Reset();
}

}  // namespace dunlin::kvbench
