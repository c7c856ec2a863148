#pragma once

#include "common/fabric/atomic_agent.h"
#include "common/layout/word.h"

namespace dunlin {

// The atomics of this processor, on the server's own mapping: never fails.
class CpuAtomics final : public AtomicAgent {
 public:
  explicit CpuAtomics(std::byte* base) : base_(base) {}
  absl::StatusOr<uint64_t> CompareSwap(uint64_t address, uint64_t compare, uint64_t swap) override {
    return CompareSwapWord(base_ + address, compare, swap);
  }

 private:
  std::byte* const base_;
};

}  // namespace dunlin
