#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "common/memory/block_ref.h"

namespace dunlin {

// The batches of blocks that one session was handed and has not yet declared resolved (every block
// linked or returned). Should the session die, these are the blocks that may be nobody's. A block
// that was returned on its own stays in the book until its batch is resolved. Not thread safe.
class BatchBook {
 public:
  struct Batch {
    uint64_t number;
    std::vector<BlockRef> blocks;
  };

  // Returns the new batch's number: 1, 2, ...
  uint64_t Add(std::span<const BlockRef> blocks);

  // Every batch up to `batch` is resolved. False, with nothing done, if that one was never handed
  // out; a number that was resolved before is fine.
  [[nodiscard]] bool Resolve(uint64_t batch);

  const std::deque<Batch>& unresolved() const { return batches_; }
  uint64_t blocks() const { return blocks_; }
  uint64_t last_batch() const { return last_; }

 private:
  std::deque<Batch> batches_;
  uint64_t blocks_ = 0;
  uint64_t last_ = 0;
};

}  // namespace dunlin
