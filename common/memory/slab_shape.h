#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/layout/size_class.h"

namespace dunlin {

// How many pages a slab of a class has and how many blocks it holds.
struct SlabShape {
  uint16_t pages = 0;
  uint16_t blocks = 0;
};

inline constexpr uint32_t kMaxSlabPages = 64;
inline constexpr uint32_t kMinSlabPages = 4;
inline constexpr uint32_t kMaxBlocksPerSlab = kMaxSlabPages * kPageBytes / kSmallestBlock;

// How many pages the slabs of such a heap are to have: a thousandth of it, since of each size in
// use some half a slab lies empty, but 64 (256 KiB) at most, and 4 at least.
constexpr uint32_t SlabPagesFor(uint64_t heap_bytes) {
  constexpr uint64_t kSlabs = 1024;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(heap_bytes / kPageBytes / kSlabs, kMinSlabPages, kMaxSlabPages));
}

// At most `slab_pages`, so that any class can follow any other in their place, or somewhat fewer
// where that many would leave more than 1 % at the slab's end: nine blocks of 28 KiB fill 63 pages
// exactly. Of slabs below 32 pages 3 %, as there it counts for more that they are of one length.
// Where half of them won't do, more: 2^k blocks of the sizes of a doubling fill 8 to 16 pages
// without a rest.
constexpr SlabShape ShapeOf(SizeClass c, uint32_t slab_pages) {
  const uint64_t block = BlockBytes(c);
  const auto fits = [block](uint64_t pages) {
    const uint64_t bytes = pages * kPageBytes;
    return bytes >= block && bytes % block * 100 <= bytes * (pages < 32 ? 3 : 1);
  };
  uint32_t pages = slab_pages;
  while (pages * 2 >= slab_pages && !fits(pages)) --pages;
  if (!fits(pages)) {
    for (pages = slab_pages + 1; !fits(pages);) ++pages;
  }
  return {static_cast<uint16_t>(pages), static_cast<uint16_t>(pages * kPageBytes / block)};
}

// The shapes of all classes in one heap.
class SlabShapes {
 public:
  // REQUIRES: kMinSlabPages <= slab_pages <= kMaxSlabPages.
  explicit constexpr SlabShapes(uint32_t slab_pages) : slab_pages_(slab_pages) {
    for (SizeClass c = 1; c <= kLastSlabClass; ++c) {
      shapes_[c] = ShapeOf(c, slab_pages);
      most_pages_ = std::max<uint32_t>(most_pages_, shapes_[c].pages);
    }
  }

  // REQUIRES: IsSlabClass(c).
  constexpr SlabShape operator[](SizeClass c) const { return shapes_[c]; }
  constexpr uint32_t slab_pages() const { return slab_pages_; }
  // Of the longest.
  constexpr uint32_t most_pages() const { return most_pages_; }

 private:
  std::array<SlabShape, kLastSlabClass + 1> shapes_{};
  uint32_t slab_pages_;
  uint32_t most_pages_ = 0;
};

}  // namespace dunlin
