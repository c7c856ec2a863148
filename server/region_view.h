#pragma once

#include <cstddef>
#include <cstdint>

#include "common/layout/geometry.h"
#include "common/layout/superblock.h"
#include "common/layout/word.h"

namespace dunlin {

// The server's own sight of a region: a mapping that somebody else owns, and where things lie in
// it. Cheap to copy. Words that clients touch too go through layout/word.h.
class RegionView {
 public:
  RegionView(std::byte* base, const Superblock& superblock)
      : base_(base),
        geometry_(Geometry::Of(superblock)),
        session_offset_(superblock.session_offset),
        index_offset_(superblock.index_offset),
        index_bytes_(superblock.index_bytes) {}

  const Geometry& geometry() const { return geometry_; }
  Superblock* superblock() const { return reinterpret_cast<Superblock*>(base_); }
  std::byte* At(uint64_t address) const { return base_ + address; }
  void* SessionWord(uint32_t index) const {
    return base_ + session_offset_ + uint64_t{index} * kSessionWordBytes;
  }

  uint64_t bucket_count() const { return index_bytes_ / kBucketBytes; }
  uint64_t BucketAddress(uint64_t number) const { return index_offset_ + number * kBucketBytes; }
  std::byte* Bucket(uint64_t number) const { return At(BucketAddress(number)); }
  // Whether a slot of the index lies there: inside it, aligned, and not a bucket's header.
  bool IsSlotAddress(uint64_t address) const {
    return address >= index_offset_ && address - index_offset_ < index_bytes_ &&
           address % kWordBytes == 0 && (address - index_offset_) % kBucketBytes != 0;
  }

 private:
  std::byte* base_;
  Geometry geometry_;
  uint64_t session_offset_;
  uint64_t index_offset_;
  uint64_t index_bytes_;
};

// Writes everything that an empty region holds into zeroed memory of `superblock.region_bytes`: the
// superblock, the directory, and every bucket's header. The state word stays kStarting.
void FormatRegion(std::byte* base, const Superblock& superblock);

}  // namespace dunlin
