#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin {

// How the server itself changes words that clients change by atomics: through the region's atomic
// domain, like any client. Not thread safe.
class AtomicAgent {
 public:
  // One compare-and-swap of a batch. It took place exactly if `found` is `compare` afterwards.
  struct Swap {
    uint64_t address;
    uint64_t compare;
    uint64_t swap;
    uint64_t found;
  };

  virtual ~AtomicAgent() = default;

  // The aligned word at `address` in the region: if it is `compare` it becomes `swap`. Returns what
  // was found. An error (Unavailable) says that nobody knows whether it was done; later calls fail
  // likewise.
  virtual absl::StatusOr<uint64_t> CompareSwap(uint64_t address, uint64_t compare,
                                               uint64_t swap) = 0;

  // Several at once, of different words, in any order; all are done when it returns. An agent with
  // a way to go may have many of them under way together.
  virtual absl::Status CompareSwapAll(std::span<Swap> swaps) {
    for (Swap& s : swaps) {
      absl::StatusOr<uint64_t> found = CompareSwap(s.address, s.compare, s.swap);
      if (!found.ok()) return found.status();
      s.found = *found;
    }
    return absl::OkStatus();
  }
};

}  // namespace dunlin
