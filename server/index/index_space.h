#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/layout/directory.h"
#include "common/layout/superblock.h"
#include "common/memory/allocator.h"
#include "server/region_view.h"

namespace dunlin {

// The subtables of the index: which part of the hash space each serves, where it lies, and the
// memory that an index may have. The only writer of the directory. Not thread safe.
//
// Memory comes out of the heap and never goes back there (BlockPool::TakeForIndex). What a split
// retires is used for another subtable once the grace period and the hold-back of reuse allow.
class IndexSpace {
 public:
  // A subtable, by the first bits of the hashes that it serves.
  struct Subtable {
    uint64_t address = 0;
    uint32_t prefix = 0;
    uint32_t depth = 0;
    friend bool operator==(const Subtable&, const Subtable&) = default;
  };
  // Positions in the hash space: the first kMaxDirectoryDepth bits of a hash.
  static constexpr uint32_t kPositions = 1u << kMaxDirectoryDepth;
  static constexpr uint32_t First(const Subtable& s) {
    return s.prefix << (kMaxDirectoryDepth - s.depth);
  }
  // The position behind it; kPositions after the last.
  static constexpr uint32_t Next(const Subtable& s) {
    return (s.prefix + 1) << (kMaxDirectoryDepth - s.depth);
  }

  // On a formatted region, whose plan says what is in use.
  IndexSpace(const RegionView& region, const Superblock& plan);

  // The subtable that serves the position. REQUIRES: position < kPositions.
  Subtable At(uint32_t position) const;
  DirectoryView directory() const { return {entries_.data(), depth_, epoch_}; }
  uint64_t subtables() const { return subtables_; }
  // Subtables of that depth.
  uint64_t CountAt(uint32_t depth) const { return by_depth_[depth]; }
  uint32_t ShallowestDepth() const;
  // Whether a subtable of that depth can be split: the directory has room.
  bool CanSplit(uint32_t depth) const { return depth < depth_ || depth_ < max_depth_; }

  // Whether a word lies there that is part of some subtable's memory, in use or not; as a bucket's
  // header, or as a slot. Believes nothing of the address.
  bool IsHeaderAddress(uint64_t address) const;
  bool IsSlotAddress(uint64_t address) const;

  // Memory for a subtable. `used`: it was one before, so that its words are only to be changed by
  // atomics: every slot is MOVED, every header 0. Otherwise nobody has ever been told of it; it is
  // to be cleared first. Nothing: the heap is full.
  struct Place {
    uint64_t address = 0;
    bool used = false;
  };
  std::optional<Place> Take(Allocator& allocator, uint64_t tick);
  // Not used after all.
  void GiveBack(Place place);

  // Replaces a subtable by its two halves in the directory, for all to see. REQUIRES: it is in the
  // directory, and CanSplit.
  void Publish(const Subtable& old, const uint64_t children[2]);
  // Its headers are 0: after the grace period it may be used again.
  void Retire(uint64_t address, uint64_t tick) { retired_.push_back({address, tick}); }
  // Ends what is over of it.
  void Advance(uint64_t tick, const HoldBack& hold);
  bool GraceDue(uint64_t tick) const {
    return !retired_.empty() && retired_.front().tick + grace_ <= tick;
  }

  uint64_t subtable_bytes() const { return subtable_bytes_; }
  // That are taken out of the heap at a time: a slab's size at least, so that slabs and subtables
  // leave no holes between them.
  uint64_t area_bytes() const;
  uint64_t index_bytes() const { return subtables_ * subtable_bytes_; }
  uint64_t spare_bytes() const { return (free_.size() + retired_.size()) * subtable_bytes_; }
  uint64_t slots() const { return index_bytes() / kBucketBytes * kSlotsPerBucket; }

 private:
  struct Retired {
    uint64_t address;
    uint64_t tick;
  };
  struct Area {
    uint64_t begin;
    uint64_t end;
  };
  bool InIndex(uint64_t address) const;
  void SetEntries(const Subtable& old, const uint64_t children[2]);
  void PublishRoot();

  RegionView region_;
  const uint64_t directory_offset_;
  const uint64_t subtable_bytes_;
  const uint64_t grace_;
  const uint32_t max_depth_;
  std::vector<uint64_t> entries_;  // DirectoryEntry
  uint32_t depth_;
  uint32_t epoch_;
  uint64_t subtables_ = 0;
  uint64_t by_depth_[kMaxDirectoryDepth + 1] = {};
  std::vector<Area> areas_;  // of the region, by address
  std::vector<Place> free_;
  std::deque<Retired> retired_;
};

}  // namespace dunlin
