#pragma once

#include <cstdint>
#include <memory>

#include "client/connect/fork_guard.h"
#include "client/connect/mapped_region.h"
#include "client/lane/lane.h"

namespace dunlin {

// What a session on shared memory is made of, after the server's welcome: the region is usable, and
// session_id and session_word are in their ranges. The session ends with a Goodbye on its lane.
struct ShmSessionParts {
  std::shared_ptr<MappedRegion> region;
  std::unique_ptr<Lane> lane;
  uint32_t session_id = 0;    // owner in lock words
  uint32_t session_word = 0;  // index of its word in the session area
  std::shared_ptr<ForkGuard> guard;
  bool read_only = false;  // and so is the mapping
};

}  // namespace dunlin
