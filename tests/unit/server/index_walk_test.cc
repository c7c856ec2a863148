#include "server/index_walk.h"

#include "common/layout/bucket.h"
#include "tests/unit/server/core_fixture.h"

namespace dunlin {
namespace {

using IndexWalkTest = CoreFixture;

TEST_F(IndexWalkTest, AnEmptyIndex) {
  IndexWalk walk(RegionView(base_.get(), plan_), &*atomics_);
  EXPECT_FALSE(walk.Step(1));
  EXPECT_TRUE(walk.Step(1u << 30));
  EXPECT_EQ(walk.counts().items, 0u);
  EXPECT_EQ(walk.counts().locks, 0u);
  EXPECT_TRUE(walk.Unlinked().empty());
}

TEST_F(IndexWalkTest, FindsABlockInAnySlotWhateverItsFingerprintAndFrozenBit) {
  uint64_t buckets = plan_.index_bytes / kBucketBytes;
  for (uint64_t bucket : {uint64_t{0}, buckets / 2, buckets - 1}) {
    for (uint32_t slot : {0u, kSlotsPerBucket - 1}) {
      BlockRef block(4096 + 104 * slot, ClassFor(104), 3000);
      BlockRef other(4096 + 104 * 500, ClassFor(104), 3000);
      Link(Slot(bucket, slot), block.word().WithFingerprint(1000).Frozen().raw());
      IndexWalk walk(RegionView(base_.get(), plan_), &*atomics_);
      walk.AddBlock(block);
      walk.AddBlock(other);
      while (!walk.Step(7)) {
      }
      EXPECT_EQ(walk.Unlinked(), std::vector<BlockRef>{other});
      EXPECT_EQ(walk.counts().items, 1u);
      Link(Slot(bucket, slot), 0);
    }
  }
}

TEST_F(IndexWalkTest, ASlotOfAnotherGenerationOrClassIsNoLink) {
  BlockRef block(4096, ClassFor(104), 5);
  Link(Slot(0, 0), BlockRef(4096, ClassFor(104), 6).word().raw());
  Link(Slot(0, 1), BlockRef(4096, ClassFor(2048), 5).word().raw());
  IndexWalk walk(RegionView(base_.get(), plan_), &*atomics_);
  walk.AddBlock(block);
  EXPECT_TRUE(walk.Step(1u << 30));
  EXPECT_EQ(walk.Unlinked().size(), 1u);
}

TEST_F(IndexWalkTest, ReleasesTheLocksOfTheFencedAndCountsTheOthers) {
  std::byte* first = base_.get() + plan_.index_offset;
  std::byte* second = first + kBucketBytes;
  uint64_t free = LoadWord(first);
  StoreWord(first, BucketHeader(free).HeldBy(11, 3).raw());
  StoreWord(second, BucketHeader(free).HeldBy(12, 3).raw());
  IndexWalk walk(RegionView(base_.get(), plan_), &*atomics_);
  walk.AddFenced(11);
  EXPECT_TRUE(walk.Step(1u << 30));
  EXPECT_EQ(LoadWord(first), free);
  EXPECT_EQ(BucketHeader(LoadWord(second)).owner(), 12u);
  EXPECT_EQ(walk.counts().released, 1u);
  EXPECT_EQ(walk.counts().locks, 1u);
}

}  // namespace
}  // namespace dunlin
