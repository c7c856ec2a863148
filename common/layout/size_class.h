#pragma once

#include <bit>
#include <cstdint>

namespace dunlin {

// Size classes of heap blocks. A slot word names the class of its record, so that one READ of
// BlockBytes(class) brings the whole of it.
//
//   class 0         no block: a slot word of class 0 is empty or MOVED
//   classes 1..13   32, 40, ... 128 bytes: steps of 8
//   classes 14..77  eight steps to a doubling, 144 ... 32,768 bytes
//   class 127       a run: 4 KiB pages in a row; the record's header, read first, tells the length
//
// Between two neighbouring classes above 64 bytes lie at most 12.5 %, which bounds the waste inside
// a block; the smaller steps lose at most 7 bytes.

using SizeClass = uint8_t;

inline constexpr uint32_t kBlockUnit = 8;
inline constexpr uint32_t kPageBytes = 4096;
inline constexpr uint32_t kSmallestBlock = 32;
inline constexpr uint32_t kLinearLimit = 128;
inline constexpr SizeClass kLinearClasses = (kLinearLimit - kSmallestBlock) / kBlockUnit + 1;
inline constexpr uint32_t kStepsPerDoubling = 8;
inline constexpr uint32_t kLargestSlabBlock = 32768;
inline constexpr SizeClass kLastSlabClass =
    kLinearClasses + kStepsPerDoubling * (std::countr_zero(kLargestSlabBlock / kLinearLimit));
inline constexpr SizeClass kRunClass = 127;
static_assert(kLinearClasses == 13 && kLastSlabClass == 77);

constexpr bool IsSlabClass(SizeClass c) { return c >= 1 && c <= kLastSlabClass; }
constexpr bool IsBlockClass(SizeClass c) { return IsSlabClass(c) || c == kRunClass; }

namespace internal {

constexpr uint32_t ComputeBlockBytes(SizeClass c) {
  if (c <= kLinearClasses) return kSmallestBlock + kBlockUnit * (c - 1u);
  uint32_t above = c - kLinearClasses - 1u;
  uint32_t base = kLinearLimit << (above / kStepsPerDoubling);
  return base + base / kStepsPerDoubling * (above % kStepsPerDoubling + 1);
}

struct BlockBytesTable {
  uint32_t bytes[kLastSlabClass + 1] = {};
  constexpr BlockBytesTable() {
    for (SizeClass c = 1; c <= kLastSlabClass; ++c) bytes[c] = ComputeBlockBytes(c);
  }
};
inline constexpr BlockBytesTable kBlockBytesTable;

}  // namespace internal

// REQUIRES: IsSlabClass(c).
constexpr uint32_t BlockBytes(SizeClass c) { return internal::kBlockBytesTable.bytes[c]; }

// The smallest class that holds `bytes`; kRunClass above the slab classes.
constexpr SizeClass ClassFor(uint64_t bytes) {
  if (bytes <= kSmallestBlock) return 1;
  if (bytes <= kLinearLimit) {
    return static_cast<SizeClass>((bytes - kSmallestBlock + kBlockUnit - 1) / kBlockUnit + 1);
  }
  if (bytes > kLargestSlabBlock) return kRunClass;
  uint32_t doubling = static_cast<uint32_t>(std::bit_width((bytes - 1) / kLinearLimit) - 1);
  uint64_t base = uint64_t{kLinearLimit} << doubling;
  uint64_t step = base / kStepsPerDoubling;
  return static_cast<SizeClass>(kLinearClasses + kStepsPerDoubling * doubling +
                                (bytes - base + step - 1) / step);
}

constexpr uint64_t RunBytes(uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

static_assert(BlockBytes(1) == 32 && BlockBytes(13) == 128 && BlockBytes(14) == 144);
static_assert(BlockBytes(kLastSlabClass) == kLargestSlabBlock);
static_assert(ClassFor(104) == 10 && BlockBytes(10) == 104);
static_assert(ClassFor(129) == 14 && ClassFor(256) == 21 && ClassFor(257) == 22);
static_assert(ClassFor(kLargestSlabBlock) == kLastSlabClass);
static_assert(ClassFor(kLargestSlabBlock + 1) == kRunClass);

}  // namespace dunlin
