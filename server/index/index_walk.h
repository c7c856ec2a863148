#pragma once

#include <cstdint>

#include "common/layout/bucket.h"
#include "common/layout/slot.h"
#include "common/layout/word.h"
#include "server/index/index_space.h"
#include "server/region_view.h"

namespace dunlin {

// Where a pass over the whole index stands. It goes through the hash space in order, subtable by
// subtable, so that a split anywhere neither hides a slot from it nor shows one that it has passed:
// every slot that is live throughout the pass is met. For that no subtable is split while the pass
// is in the midst of it, unless the pass is told to StepBack and takes that part anew. Not thread
// safe; clients change the index meanwhile.
class IndexWalk {
 public:
  IndexWalk(const RegionView& region, const IndexSpace& index) : region_(region), index_(index) {}

  // Visits the next buckets, up to `most`, of one subtable: visitor.Ahead(word) for each slot some
  // time before its visit, visitor.Header(address, header), visitor.Slot(address, word) for each
  // slot, and visitor.SubtableDone(). `closed`: a subtable that is not to be entered now. Returns
  // how many it visited: 0 if it is over, or stands before the closed one.
  template <typename Visitor>
  uint32_t Step(uint32_t most, const IndexSpace::Subtable* closed, Visitor& visitor);

  bool over() const { return position_ == IndexSpace::kPositions; }
  // Whether it is in the midst of that subtable.
  bool In(const IndexSpace::Subtable& s) const {
    return bucket_ != 0 && position_ == IndexSpace::First(s);
  }
  // Begins the subtable that it is in again.
  void StepBack() { bucket_ = 0; }
  // How much of the hash space is behind it, in 1/1000.
  uint32_t permille() const {
    return static_cast<uint32_t>(uint64_t{position_} * 1000 / IndexSpace::kPositions);
  }

 private:
  template <typename Visitor>
  void LookAhead(const std::byte* bucket, Visitor& visitor) const;

  RegionView region_;
  const IndexSpace& index_;
  uint32_t position_ = 0;
  uint32_t bucket_ = 0;
};

template <typename Visitor>
void IndexWalk::LookAhead(const std::byte* bucket, Visitor& visitor) const {
  for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
    SlotWord word(LoadWordRelaxed(bucket + kWordBytes + s * kWordBytes));
    if (word.live()) visitor.Ahead(word);
  }
}

template <typename Visitor>
uint32_t IndexWalk::Step(uint32_t most, const IndexSpace::Subtable* closed, Visitor& visitor) {
  if (over()) return 0;
  const IndexSpace::Subtable here = index_.At(position_);
  if (closed != nullptr && here == *closed) return 0;
  const uint32_t buckets = region_.geometry().bucket_mask + 1;
  uint32_t visited = 0;
  for (; bucket_ < buckets && visited < most; ++bucket_, ++visited) {
    const uint64_t address = here.address + uint64_t{bucket_} * kBucketBytes;
    const std::byte* bucket = region_.At(address);
    constexpr uint32_t kLinesAhead = 4;
    __builtin_prefetch(bucket + kLinesAhead * kBucketBytes);
    __builtin_prefetch(bucket + kLinesAhead * kBucketBytes + 64);
    if (bucket_ + 2 < buckets) LookAhead(bucket + 2 * kBucketBytes, visitor);
    visitor.Header(address, BucketHeader(LoadWord(bucket)));
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      const uint64_t at = kWordBytes + s * kWordBytes;
      visitor.Slot(address + at, SlotWord(LoadWordRelaxed(bucket + at)));
    }
  }
  if (bucket_ == buckets) {
    visitor.SubtableDone();
    position_ = IndexSpace::Next(here);
    bucket_ = 0;
  }
  return visited;
}

}  // namespace dunlin
