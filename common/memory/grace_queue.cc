#include "common/memory/grace_queue.h"

#include "common/base/check.h"

namespace dunlin {

void GraceQueue::Push(BlockRef block, uint64_t tick) {
  if (groups_.empty() || groups_.back().tick != tick) {
    DUNLIN_CHECK(groups_.empty() || groups_.back().tick < tick, "ticks never decrease");
    groups_.push_back({tick, 0});
  }
  ++groups_.back().count;
  blocks_.push_back(block);
}

std::optional<BlockRef> GraceQueue::Pop(uint64_t tick, const HoldBack& hold) {
  if (!Due(tick)) return std::nullopt;
  Group& group = groups_.front();
  if (!hold.Releases(group.tick)) return std::nullopt;
  BlockRef block = blocks_.front();
  blocks_.pop_front();
  if (--group.count == 0) groups_.pop_front();
  return block;
}

}  // namespace dunlin
