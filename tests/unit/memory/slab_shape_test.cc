#include "common/memory/slab_shape.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

TEST(SlabShape, EveryClassFitsAndWastesLittle) {
  for (SizeClass c = 1; c <= kLastSlabClass; ++c) {
    SlabShape shape = kSlabShapes[c];
    uint64_t bytes = uint64_t{shape.pages} * kPageBytes;
    uint64_t used = uint64_t{shape.blocks} * BlockBytes(c);
    EXPECT_LE(shape.pages, kMaxSlabPages);
    EXPECT_GE(shape.pages, kMinSlabPages);
    EXPECT_LE(used, bytes);
    EXPECT_LT(bytes - used, BlockBytes(c)) << "one more would have fitted";
    EXPECT_GE(shape.blocks, 4);
  }
}

TEST(SlabShape, KnownShapes) {
  EXPECT_EQ(kSlabShapes[ClassFor(32)].blocks, 8192);
  EXPECT_EQ(kSlabShapes[ClassFor(104)].blocks, 2520);
  EXPECT_EQ(kSlabShapes[ClassFor(28672)].pages, 63);
  EXPECT_EQ(kSlabShapes[ClassFor(28672)].blocks, 9);
  EXPECT_EQ(kSlabShapes[kLastSlabClass].pages, 64);
}

// The mix of sizes of the project's target: waste in blocks and at slab ends together.
TEST(SlabShape, WasteOnAMixOfSizesIsBelowAnEighth) {
  double asked = 0;
  double taken = 0;
  for (uint64_t bytes = 40; bytes <= kLargestSlabBlock; bytes += 8) {
    SizeClass c = ClassFor(bytes);
    double share = static_cast<double>(kSlabShapes[c].pages) * kPageBytes / kSlabShapes[c].blocks;
    EXPECT_LE(share / static_cast<double>(bytes), 1.26) << bytes;
    asked += static_cast<double>(bytes);
    taken += share;
  }
  EXPECT_LE(taken / asked, 1.08);
}

}  // namespace
}  // namespace dunlin
