#pragma once

#include <atomic>
#include <cstdint>

namespace dunlin {

// What a client's watch has seen of its server, for the client's sessions: how often it was lost. A
// session whose connection is older than the last loss has lost it too, though nothing may have
// told it. Thread safe.
class ServerHealth {
 public:
  uint64_t losses() const { return losses_.load(std::memory_order_relaxed); }
  void CountLoss() { losses_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> losses_{0};
};

}  // namespace dunlin
