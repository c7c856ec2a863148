#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/layout/superblock.h"
#include "server/options.h"

namespace dunlin {

// Milliseconds from tick to tick while a session is open. Every wake-up costs some ten to thirty
// microseconds of CPU, so 1 ms would be up to 3 % of a core for nothing; expiry and grace periods
// don't need it finer than this.
inline constexpr uint32_t kTickPeriod = 4;

// What the plan does not take from the options.
struct RegionSeed {
  uint64_t incarnation = 0;
  uint64_t hash_seed = 0;
  uint64_t page_bytes = 4096;         // the region is a whole number of these
  bool max_value_is_default = false;  // it may then be lowered to what the heap can hold
};

// The constant part of the superblock, sealed, with the root of the directory: where everything is
// to lie. Fails, with the numbers and the remedy, if the memory is too small for the options.
absl::StatusOr<Superblock> PlanRegion(const ServerOptions& options, const RegionSeed& seed);

// How deep the directory area lets the directory grow.
uint32_t MostDirectoryDepth(const Superblock& superblock);

// How many subtables there are at the start: a power of two, each of depth
// DirectoryRoot::depth().
uint64_t SubtableCount(const Superblock& superblock);

// How many records fill the index of the start to 80 %, up to which every insert finds room.
uint64_t IndexCapacity(const Superblock& superblock);

}  // namespace dunlin
