#pragma once

#include <array>
#include <cstdint>

#include "common/layout/size_class.h"

namespace dunlin {

// How many pages a slab of each class has and how many blocks it holds: 64 pages (256 KiB), so that
// any class can follow any other in their place, or somewhat fewer where 64 would leave more than 1
// % at the slab's end: nine blocks of 28 KiB fill 63 pages exactly.
struct SlabShape {
  uint16_t pages = 0;
  uint16_t blocks = 0;
};

inline constexpr uint32_t kMaxSlabPages = 64;
inline constexpr uint32_t kMinSlabPages = 32;

constexpr SlabShape ShapeOf(SizeClass c) {
  uint64_t block = BlockBytes(c);
  for (uint64_t pages = kMaxSlabPages; pages >= kMinSlabPages; --pages) {
    uint64_t bytes = pages * kPageBytes;
    if (bytes % block * 100 <= bytes) {
      return {static_cast<uint16_t>(pages), static_cast<uint16_t>(bytes / block)};
    }
  }
  return {};
}

inline constexpr auto kSlabShapes = [] {
  std::array<SlabShape, kLastSlabClass + 1> shapes{};
  for (SizeClass c = 1; c <= kLastSlabClass; ++c) shapes[c] = ShapeOf(c);
  return shapes;
}();

inline constexpr uint32_t kMaxBlocksPerSlab = kMaxSlabPages * kPageBytes / kSmallestBlock;

static_assert([] {
  for (SizeClass c = 1; c <= kLastSlabClass; ++c) {
    if (kSlabShapes[c].pages == 0) return false;
  }
  return true;
}());

}  // namespace dunlin
