#pragma once

#include <cstdint>
#include <memory>

#include "client/connect/fork_guard.h"
#include "client/connect/mapped_region.h"
#include "client/lane/lane.h"
#include "common/fabric/fabric.h"
#include "common/layout/superblock.h"

namespace dunlin {

// What a session is made of, after the server's welcome: the region is usable, and session_id and
// session_word are in their ranges. The session ends with a Goodbye on its lane.
struct SessionParts {
  std::shared_ptr<ForkGuard> guard;
  std::shared_ptr<MappedRegion> region;  // on shared memory; null otherwise
  std::unique_ptr<Lane> lane;
  std::unique_ptr<Channel> channel;  // may use the lane's connection: goes first
  Superblock constants{};            // the region's constant part, validated
  uint32_t session_id = 0;           // owner in lock words
  uint32_t session_word = 0;         // index of its word in the session area
  uint64_t token = 0;                // to have this session replaced by another
  bool read_only = false;            // and so is a mapping
  // Where there is no mapping to read it from: the server's tick, as it was at some moment between
  // these two of the deadline's clock.
  uint64_t tick = 0;
  int64_t tick_asked = 0;
  int64_t tick_answered = 0;
};

}  // namespace dunlin
