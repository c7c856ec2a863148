#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "common/memory/block_ref.h"

namespace dunlin {

// The batches of blocks that one session was handed and has not yet declared resolved (every block
// linked or returned). Should the session die, these are the blocks that may be nobody's. A block
// that was returned on its own stays in the book until its batch is resolved or it is pruned. 8
// bytes a block. Not thread safe.
class BatchBook {
 public:
  // Returns the new batch's number: 1, 2, ...
  uint64_t Add(std::span<const BlockRef> blocks);

  // Every batch up to `batch` is resolved. False, with nothing done, if that one was never handed
  // out; a number that was resolved before is fine.
  [[nodiscard]] bool Resolve(uint64_t batch);

  // Whether the book has doubled since it was last pruned: a session may keep one block of an early
  // batch in hand, and resolve none behind it, for as long as it lives.
  bool NeedsPruning() const { return blocks().size() >= 2 * pruned_size_ + kPruneAbove; }

  // Forgets every block of which `keep(BlockRef)` is false.
  template <typename Keep>
  void Prune(Keep&& keep);

  // In the order in which they were handed out.
  std::span<const BlockRef> blocks() const { return std::span(blocks_).subspan(begin_); }

 private:
  static constexpr size_t kPruneAbove = 65536;

  struct Batch {
    uint64_t number;
    uint64_t count;  // of its blocks that are still in the book
  };

  // Frees the room of blocks that were resolved, once it is the larger part.
  void Compact();

  std::vector<BlockRef> blocks_;
  size_t begin_ = 0;  // those before it are resolved
  std::deque<Batch> batches_;
  uint64_t last_ = 0;
  size_t pruned_size_ = 0;
};

template <typename Keep>
void BatchBook::Prune(Keep&& keep) {
  std::vector<BlockRef> kept;
  std::deque<Batch> batches;
  size_t at = begin_;
  for (Batch batch : batches_) {
    uint64_t before = kept.size();
    for (size_t end = at + batch.count; at < end; ++at) {
      if (keep(blocks_[at])) kept.push_back(blocks_[at]);
    }
    if (kept.size() > before) batches.push_back({batch.number, kept.size() - before});
  }
  blocks_ = std::move(kept);
  batches_ = std::move(batches);
  begin_ = 0;
  pruned_size_ = blocks_.size();
}

}  // namespace dunlin
