#include "common/memory/allocator.h"

namespace dunlin {

bool Allocator::Return(SlotWord word, uint64_t tick) {
  std::optional<BlockRef> block = pool_.StartGrace(word);
  if (!block) {
    ++returns_refused_;
    return false;
  }
  grace_.Push(*block, tick);
  return true;
}

bool Allocator::ReturnIfSame(BlockRef block, uint64_t tick) {
  if (!pool_.StartGrace(block)) return false;
  grace_.Push(block, tick);
  return true;
}

uint32_t Allocator::Advance(uint64_t tick, const HoldBack& hold, uint32_t most) {
  uint32_t done = 0;
  while (done < most) {
    std::optional<BlockRef> block = grace_.Pop(tick, hold);
    if (!block) break;
    pool_.EndGrace(*block, tick);
    ++done;
  }
  return done;
}

}  // namespace dunlin
