#include "common/memory/batch_book.h"

namespace dunlin {

uint64_t BatchBook::Add(std::span<const BlockRef> blocks) {
  batches_.push_back({++last_, std::vector<BlockRef>(blocks.begin(), blocks.end())});
  blocks_ += blocks.size();
  return last_;
}

bool BatchBook::Resolve(uint64_t batch) {
  if (batch > last_) return false;
  while (!batches_.empty() && batches_.front().number <= batch) {
    blocks_ -= batches_.front().blocks.size();
    batches_.pop_front();
  }
  return true;
}

}  // namespace dunlin
