#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/fabric/atomic_agent.h"
#include "common/fabric/verbs/key_table.h"
#include "common/fabric/verbs/loopback.h"

namespace dunlin {

// Compare-and-swap through the adapter that executes the clients' (microseconds each).
class VerbsAtomicAgent final : public AtomicAgent {
 public:
  VerbsAtomicAgent(std::unique_ptr<Loopback> loopback, uint64_t region_bytes);

  absl::StatusOr<uint64_t> CompareSwap(uint64_t address, uint64_t compare, uint64_t swap) override;
  absl::Status CompareSwapAll(std::span<Swap> swaps) override;

 private:
  absl::Status ExecuteList(std::span<Swap> swaps);

  const std::unique_ptr<Loopback> loopback_;
  const uint64_t region_bytes_;
  const KeyTable keys_;
};

}  // namespace dunlin
