#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace dunlin {

// How the server itself changes words that clients change by atomics: through the region's atomic
// domain, like any client. Not thread safe.
class AtomicAgent {
 public:
  virtual ~AtomicAgent() = default;

  // The aligned word at `address` in the region: if it is `compare` it becomes `swap`. Returns what
  // was found. An error (Unavailable) says that nobody knows whether it was done; later calls fail
  // likewise.
  virtual absl::StatusOr<uint64_t> CompareSwap(uint64_t address, uint64_t compare,
                                               uint64_t swap) = 0;
};

}  // namespace dunlin
