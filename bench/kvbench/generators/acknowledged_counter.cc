#include "bench/kvbench/generators/acknowledged_counter.h"

#include "common/base/check.h"

namespace dunlin::kvbench {

AcknowledgedCounter::AcknowledgedCounter(int64_t first)
    : next_(first),
      last_(first - 1),
      acknowledged_(std::make_unique<std::atomic<uint8_t>[]>(kWindow)) {
  DUNLIN_CHECK(first >= 0);
}

bool AcknowledgedCounter::Acknowledge(int64_t number) {
  if (number - Last() > static_cast<int64_t>(kWindow)) return false;
  // Sequentially consistent with `advancing_`: either whoever advances sees this mark, or this
  // thread sees that nobody advances any more.
  acknowledged_[static_cast<uint64_t>(number) % kWindow].store(1);
  Advance();
  return true;
}

void AcknowledgedCounter::Advance() {
  for (;;) {
    if (advancing_.exchange(true)) return;
    int64_t last = last_.load(std::memory_order_relaxed);
    for (;;) {
      std::atomic<uint8_t>& next = acknowledged_[static_cast<uint64_t>(last + 1) % kWindow];
      if (next.load() == 0) break;
      next.store(0);
      ++last;
    }
    last_.store(last, std::memory_order_release);
    advancing_.store(false);
    // Somebody may have marked the next number after it was looked at, and turned away.
    if (acknowledged_[static_cast<uint64_t>(last + 1) % kWindow].load() == 0) return;
  }
}

}  // namespace dunlin::kvbench
