#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/fabric/remote.h"
#include "common/fabric/verbs/verbs_handles.h"

namespace dunlin {

// How a region is cut into registrations of at most `max_bytes` (0: no limit) each: few, none
// across a huge page where that is possible. Pure. Offsets and bytes alone are filled in.
std::vector<MemoryKey> CutRegion(uint64_t region_bytes, uint64_t max_bytes, uint64_t page_bytes);

// The server's region as one adapter knows it: registered twice, so that sessions which may only
// read get keys that can only read. Never with relaxed ordering, on which the protocol could not
// build.
class RegionMemory {
 public:
  // `region` is made of whole pages and outlives the object. Errors: ResourceExhausted.
  static absl::StatusOr<RegionMemory> Register(ibv_pd* pd, std::span<std::byte> region,
                                               uint64_t max_mr_bytes, bool remote_atomics);

  const std::vector<MemoryKey>& keys(bool read_only) const {
    return read_only ? read_only_keys_ : keys_;
  }

 private:
  std::vector<MemoryRegion> registrations_;
  std::vector<MemoryKey> keys_;
  std::vector<MemoryKey> read_only_keys_;
};

}  // namespace dunlin
