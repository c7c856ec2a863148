#include "server/index/index_space.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/layout/bucket.h"
#include "common/layout/word.h"
#include "common/memory/slab_shape.h"
#include "server/region_plan.h"

namespace dunlin {

IndexSpace::IndexSpace(const RegionView& region, const Superblock& plan)
    : region_(region),
      directory_offset_(plan.directory_offset),
      subtable_bytes_(region.geometry().SubtableBytes()),
      grace_(plan.grace_ms),
      max_depth_(MostDirectoryDepth(plan)),
      depth_(DirectoryRoot(plan.directory_root).depth()),
      epoch_(DirectoryRoot(plan.directory_root).epoch()) {
  const std::byte* entries = region_.At(DirectoryRoot(plan.directory_root).region_offset());
  subtables_ = uint64_t{1} << depth_;
  for (uint64_t i = 0; i < subtables_; ++i) {
    entries_.push_back(LoadWord(entries + i * kWordBytes));
    DUNLIN_CHECK_EQ(DirectoryEntry(entries_.back()).depth(), depth_);
  }
  by_depth_[depth_] = subtables_;
  areas_.push_back({plan.index_offset, plan.index_offset + plan.index_bytes});
}

IndexSpace::Subtable IndexSpace::At(uint32_t position) const {
  DirectoryEntry entry(entries_[position >> (kMaxDirectoryDepth - depth_)]);
  return {entry.region_offset(), position >> (kMaxDirectoryDepth - entry.depth()), entry.depth()};
}

uint32_t IndexSpace::ShallowestDepth() const {
  uint32_t depth = 0;
  while (by_depth_[depth] == 0) ++depth;
  return depth;
}

bool IndexSpace::InIndex(uint64_t address) const {
  auto behind = std::upper_bound(areas_.begin(), areas_.end(), address,
                                 [](uint64_t a, const Area& area) { return a < area.begin; });
  return behind != areas_.begin() && address < std::prev(behind)->end && address % kWordBytes == 0;
}

// Every area begins on a page, so a bucket on a multiple of its size.
bool IndexSpace::IsHeaderAddress(uint64_t address) const {
  return InIndex(address) && address % kBucketBytes == 0;
}
bool IndexSpace::IsSlotAddress(uint64_t address) const {
  return InIndex(address) && address % kBucketBytes != 0;
}

std::optional<IndexSpace::Place> IndexSpace::Take(Allocator& allocator, uint64_t tick) {
  if (free_.empty()) {
    uint64_t bytes = area_bytes();
    std::optional<uint64_t> heap_offset =
        allocator.TakeForIndex(static_cast<uint32_t>(bytes / kPageBytes), tick);
    if (!heap_offset && subtable_bytes_ % kPageBytes == 0) {
      bytes = subtable_bytes_;
      heap_offset = allocator.TakeForIndex(static_cast<uint32_t>(bytes / kPageBytes), tick);
    }
    if (!heap_offset) return std::nullopt;
    const uint64_t begin = region_.geometry().heap_offset + *heap_offset;
    const Area area{begin, begin + bytes};
    areas_.insert(std::upper_bound(areas_.begin(), areas_.end(), begin,
                                   [](uint64_t a, const Area& other) { return a < other.begin; }),
                  area);
    for (uint64_t at = area.end; at > begin; at -= subtable_bytes_) {
      free_.push_back({at - subtable_bytes_, false});
    }
  }
  Place place = free_.back();
  free_.pop_back();
  return place;
}

uint64_t IndexSpace::area_bytes() const {
  return std::max<uint64_t>(uint64_t{kMaxSlabPages} * kPageBytes, subtable_bytes_);
}

void IndexSpace::GiveBack(Place place) { free_.push_back(place); }

void IndexSpace::SetEntries(const Subtable& old, const uint64_t children[2]) {
  const uint64_t span = uint64_t{1} << (depth_ - old.depth);
  std::byte* entries = region_.At(directory_offset_ + DirectoryPlace(depth_));
  for (uint64_t i = 0; i < span; ++i) {
    const uint64_t at = old.prefix * span + i;
    entries_[at] = DirectoryEntry::Make(children[i * 2 / span], old.depth + 1).raw();
    StoreWord(entries + at * kWordBytes, entries_[at]);
  }
}

// Behind the entries: who sees the new root reads the new entries.
void IndexSpace::PublishRoot() {
  ++epoch_;
  StoreWord(&region_.superblock()->directory_root,
            DirectoryRoot::Make(directory_offset_ + DirectoryPlace(depth_), depth_, epoch_).raw());
}

void IndexSpace::Publish(const Subtable& old, const uint64_t children[2]) {
  DUNLIN_CHECK(At(First(old)) == old && CanSplit(old.depth));
  if (old.depth == depth_) {
    std::vector<uint64_t> twice;
    twice.reserve(entries_.size() * 2);
    for (uint64_t entry : entries_) twice.insert(twice.end(), 2, entry);
    entries_ = std::move(twice);
    ++depth_;
    std::byte* entries = region_.At(directory_offset_ + DirectoryPlace(depth_));
    for (uint64_t i = 0; i < entries_.size(); ++i) StoreWord(entries + i * kWordBytes, entries_[i]);
  }
  SetEntries(old, children);
  PublishRoot();
  --by_depth_[old.depth];
  by_depth_[old.depth + 1] += 2;
  ++subtables_;
}

void IndexSpace::Advance(uint64_t tick, const HoldBack& hold) {
  while (GraceDue(tick) && hold.Releases(retired_.front().tick)) {
    free_.push_back({retired_.front().address, true});
    retired_.pop_front();
  }
}

}  // namespace dunlin
