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
        session_offset_(superblock.session_offset) {}

  const Geometry& geometry() const { return geometry_; }
  Superblock* superblock() const { return reinterpret_cast<Superblock*>(base_); }
  std::byte* At(uint64_t address) const { return base_ + address; }
  void* SessionWord(uint32_t index) const {
    return base_ + session_offset_ + uint64_t{index} * kSessionWordBytes;
  }

 private:
  std::byte* base_;
  Geometry geometry_;
  uint64_t session_offset_;
};

// Writes everything that an empty region holds into zeroed memory of `superblock.region_bytes`: the
// superblock, the directory, and every bucket's header. The state word stays kStarting.
void FormatRegion(std::byte* base, const Superblock& superblock);

}  // namespace dunlin
