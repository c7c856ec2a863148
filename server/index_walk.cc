#include "server/index_walk.h"

#include <algorithm>

#include "common/layout/bucket.h"
#include "common/layout/slot.h"

namespace dunlin {

void IndexWalk::AddBlock(BlockRef block) {
  candidates_[block.heap_offset()] = {block, false};
  uint32_t bit = SieveBit(block.heap_offset());
  sieve_[bit / 64] |= uint64_t{1} << (bit % 64);
}

void IndexWalk::VisitHeader(uint64_t address) {
  BucketHeader header(LoadWord(region_.At(address)));
  if (!header.held()) return;
  if (!fenced_.contains(header.owner())) {
    ++counts_.locks;
    return;
  }
  // Nobody else changes a held word, and its holder is no more.
  uint64_t free = header.raw() & BucketHeader::kIdentityMask;
  absl::StatusOr<uint64_t> found = atomics_.CompareSwap(address, header.raw(), free);
  if (!found.ok()) {
    fault_.Update(found.status());
  } else if (*found == header.raw()) {
    ++counts_.released;
  }
}

void IndexWalk::VisitSlot(SlotWord word) {
  if (!word.live()) return;
  ++counts_.items;
  uint32_t bit = SieveBit(word.heap_offset());
  if ((sieve_[bit / 64] >> (bit % 64) & 1) == 0) return;
  auto found = candidates_.find(word.heap_offset());
  if (found == candidates_.end()) return;
  if (found->second.block.word().WithFingerprint(word.fingerprint()).SameRecord(word)) {
    found->second.linked = true;
  }
}

bool IndexWalk::Step(uint64_t buckets) {
  uint64_t end = std::min(region_.bucket_count(), next_bucket_ + buckets);
  for (; next_bucket_ < end; ++next_bucket_) {
    std::byte* bucket = region_.Bucket(next_bucket_);
    VisitHeader(region_.BucketAddress(next_bucket_));
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      VisitSlot(SlotWord(LoadWordRelaxed(bucket + kWordBytes + s * kWordBytes)));
    }
  }
  return next_bucket_ == region_.bucket_count();
}

std::vector<BlockRef> IndexWalk::Unlinked() const {
  std::vector<BlockRef> unlinked;
  for (const auto& [offset, candidate] : candidates_) {
    if (!candidate.linked) unlinked.push_back(candidate.block);
  }
  return unlinked;
}

}  // namespace dunlin
