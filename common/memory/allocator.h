#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/memory/block_pool.h"
#include "common/memory/block_ref.h"
#include "common/memory/grace_queue.h"

namespace dunlin {

// The server's allocator: blocks that go out in batches and come back one by one, through a grace
// period. Pure: no clock, no I/O, no heap bytes. Not thread safe. Ticks never decrease.
//
// Every decision to free compares that the block is allocated and of the same generation: a return
// may come twice, late, or from somebody who never had the block.
class Allocator {
 public:
  Allocator(uint64_t heap_bytes, uint64_t grace)
      : Allocator(heap_bytes, grace, SlabPagesFor(heap_bytes)) {}
  // `slab_pages`: see SlabShapes.
  Allocator(uint64_t heap_bytes, uint64_t grace, uint32_t slab_pages)
      : pool_(heap_bytes, grace, slab_pages), grace_(grace) {}

  // Up to `want` blocks of a slab class, appended; returns how many (0: memory is full).
  uint32_t Take(SizeClass c, uint32_t want, uint64_t tick, std::vector<BlockRef>& out) {
    return pool_.Take(c, want, tick, out);
  }
  // A run for `bytes` bytes, or nothing: memory is full or too fragmented for it.
  std::optional<BlockRef> TakeRun(uint64_t bytes, uint64_t tick) {
    return pool_.TakeRun(bytes, tick);
  }

  // BlockPool::TakeForIndex.
  std::optional<uint64_t> TakeForIndex(uint32_t pages, uint64_t tick) {
    return pool_.TakeForIndex(pages, tick);
  }

  // The block that `word` names has been unlinked. False, and counted, unless it is allocated and
  // of that class and generation.
  bool Return(SlotWord word, uint64_t tick);
  // To be called some words ahead of Return.
  void Prefetch(SlotWord word) const { pool_.Prefetch(word); }
  // The same for a block known by its whole generation; a mismatch is no fault and not counted.
  bool ReturnIfSame(BlockRef block, uint64_t tick);

  // Ends the grace of at most `most` blocks; returns of how many.
  uint32_t Advance(uint64_t tick, const HoldBack& hold, uint32_t most);
  // Whether Advance has something to do, given a look at the sessions' words.
  bool GraceDue(uint64_t tick) const { return grace_.Due(tick); }
  uint64_t blocks_in_grace() const { return grace_.size(); }

  const BlockPool& pool() const { return pool_; }
  // For its marks, hands and closed slabs; blocks change their state through the allocator alone.
  BlockPool& marks() { return pool_; }
  uint64_t returns_refused() const { return returns_refused_; }
  // Private memory, about.
  uint64_t metadata_bytes() const {
    return pool_.metadata_bytes() + grace_.size() * sizeof(BlockRef);
  }

 private:
  BlockPool pool_;
  GraceQueue grace_;
  uint64_t returns_refused_ = 0;
};

}  // namespace dunlin
