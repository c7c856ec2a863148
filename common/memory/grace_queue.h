#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "common/memory/block_ref.h"

namespace dunlin {

// What the sessions' words said when they were last looked at, all of them. Where sessions can be
// fenced instead, `seen` is the tick and `oldest` 0.
struct HoldBack {
  uint64_t seen = 0;    // the tick at that look
  uint64_t oldest = 0;  // the smallest word that was not 0, or 0 if none

  // Whether nobody can be in the midst of a call that began before `tick`, when something was
  // unlinked. The look must be later than that: one from before says nothing about a call that
  // began in between and found it still linked.
  bool Releases(uint64_t tick) const { return seen > tick && (oldest == 0 || oldest > tick); }
};

// Blocks that wait for their grace period, first in, first out. 8 bytes a block. Not thread safe.
class GraceQueue {
 public:
  explicit GraceQueue(uint64_t grace) : grace_(grace) {}

  // Ticks never decrease from call to call.
  void Push(BlockRef block, uint64_t tick);

  // The oldest block, if it was pushed at T with T + grace <= tick and `hold` releases T.
  std::optional<BlockRef> Pop(uint64_t tick, const HoldBack& hold);

  // Whether only a (new) look at the words is missing.
  bool Due(uint64_t tick) const {
    return !groups_.empty() && groups_.front().tick + grace_ <= tick;
  }
  size_t size() const { return blocks_.size(); }

 private:
  struct Group {
    uint64_t tick;
    uint64_t count;
  };

  const uint64_t grace_;
  std::deque<BlockRef> blocks_;
  std::deque<Group> groups_;  // blocks of one tick, in the same order
};

}  // namespace dunlin
