#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace dunlin::kvbench {

// YCSB's AcknowledgedCounterGenerator: hands out numbers, and knows up to which all of them have
// been acknowledged, so that nobody reads a record whose insert is under way. Thread safe and
// lock-free.
class AcknowledgedCounter {
 public:
  // How far the numbers handed out may be ahead of the first that was not acknowledged.
  static constexpr uint64_t kWindow = uint64_t{1} << 20;

  // Begins with `first`; everything below it counts as acknowledged. REQUIRES: first >= 0.
  explicit AcknowledgedCounter(int64_t first);

  int64_t Next() { return next_.fetch_add(1, std::memory_order_relaxed); }

  // The highest number with none below it that was not acknowledged; first - 1 to begin with.
  int64_t Last() const { return last_.load(std::memory_order_acquire); }

  // `number` came from Next(). False, and nothing is changed: it is more than kWindow ahead of one
  // that somebody holds back.
  [[nodiscard]] bool Acknowledge(int64_t number);

 private:
  void Advance();

  alignas(64) std::atomic<int64_t> next_;
  alignas(64) std::atomic<int64_t> last_;
  alignas(64) std::atomic<bool> advancing_{false};
  std::unique_ptr<std::atomic<uint8_t>[]> acknowledged_;
};

}  // namespace dunlin::kvbench
