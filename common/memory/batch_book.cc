#include "common/memory/batch_book.h"

namespace dunlin {

uint64_t BatchBook::Add(std::span<const BlockRef> blocks) {
  batches_.push_back({++last_, blocks.size()});
  blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  return last_;
}

bool BatchBook::Resolve(uint64_t batch) {
  if (batch > last_) return false;
  while (!batches_.empty() && batches_.front().number <= batch) {
    begin_ += batches_.front().count;
    batches_.pop_front();
  }
  Compact();
  return true;
}

void BatchBook::Compact() {
  if (begin_ * 2 < blocks_.size()) return;
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  pruned_size_ = 0;
  if (blocks_.empty()) blocks_.shrink_to_fit();
}

}  // namespace dunlin
