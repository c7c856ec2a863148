#include "common/memory/slab_shape.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

TEST(SlabShape, EveryClassFitsAndWastesLittleInEveryHeap) {
  for (uint32_t slab_pages = kMinSlabPages; slab_pages <= kMaxSlabPages; ++slab_pages) {
    const SlabShapes shapes(slab_pages);
    for (SizeClass c = 1; c <= kLastSlabClass; ++c) {
      const SlabShape shape = shapes[c];
      const uint64_t bytes = uint64_t{shape.pages} * kPageBytes;
      const uint64_t used = uint64_t{shape.blocks} * BlockBytes(c);
      EXPECT_LE(shape.pages, std::max(slab_pages, 16u));
      EXPECT_LE(shape.pages, shapes.most_pages());
      EXPECT_GE(shape.pages * 2, slab_pages);
      EXPECT_GE(shape.blocks, 1);
      EXPECT_LE(used, bytes);
      EXPECT_LE((bytes - used) * 100, bytes * (shape.pages < 32 ? 3 : 1))
          << BlockBytes(c) << " in " << shape.pages;
      EXPECT_LT(bytes - used, BlockBytes(c)) << "one more would have fitted";
    }
  }
}

TEST(SlabShape, AThousandSlabsToAHeap) {
  EXPECT_EQ(SlabPagesFor(0), 4u);
  EXPECT_EQ(SlabPagesFor(uint64_t{16} << 20), 4u);
  EXPECT_EQ(SlabPagesFor(uint64_t{64} << 20), 16u);
  EXPECT_EQ(SlabPagesFor(uint64_t{256} << 20), 64u);
  EXPECT_EQ(SlabPagesFor(uint64_t{1} << 40), 64u);
}

TEST(SlabShape, KnownShapes) {
  const SlabShapes shapes(kMaxSlabPages);
  EXPECT_EQ(shapes[ClassFor(32)].blocks, 8192);
  EXPECT_EQ(shapes[ClassFor(32)].blocks, kMaxBlocksPerSlab);
  EXPECT_EQ(shapes[ClassFor(104)].blocks, 2520);
  EXPECT_EQ(shapes[ClassFor(28672)].pages, 63);
  EXPECT_EQ(shapes[ClassFor(28672)].blocks, 9);
  EXPECT_EQ(shapes[kLastSlabClass].pages, 64);
  EXPECT_EQ(shapes.most_pages(), 64u);
  const SlabShapes small(4);
  EXPECT_EQ(small[ClassFor(104)].pages, 4);
  EXPECT_EQ(small[ClassFor(104)].blocks, 157);
  EXPECT_EQ(small[ClassFor(9216)].pages, 9);
  EXPECT_EQ(small[ClassFor(9216)].blocks, 4);
  EXPECT_EQ(small[ClassFor(30720)].pages, 15);
  EXPECT_EQ(small[kLastSlabClass].pages, 8);
  EXPECT_EQ(small.most_pages(), 15u);
}

// The mix of sizes of the project's target: waste in blocks and at slab ends together.
TEST(SlabShape, WasteOnAMixOfSizesIsBelowAnEighth) {
  const SlabShapes shapes(kMaxSlabPages);
  double asked = 0;
  double taken = 0;
  for (uint64_t bytes = 40; bytes <= kLargestSlabBlock; bytes += 8) {
    const SlabShape shape = shapes[ClassFor(bytes)];
    const double share = static_cast<double>(shape.pages) * kPageBytes / shape.blocks;
    EXPECT_LE(share / static_cast<double>(bytes), 1.26) << bytes;
    asked += static_cast<double>(bytes);
    taken += share;
  }
  EXPECT_LE(taken / asked, 1.08);
}

}  // namespace
}  // namespace dunlin
