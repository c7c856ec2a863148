#include "common/memory/block_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "common/memory/slab_shape.h"

namespace dunlin {
namespace {

constexpr uint64_t kHeap = 4 * kMaxSlabPages * kPageBytes;  // four slabs
constexpr SizeClass kClass = ClassFor(104);
constexpr SlabShapes kShapes(kMaxSlabPages);

std::vector<BlockRef> TakeAll(BlockPool& pool, SizeClass c, uint64_t tick = 1) {
  std::vector<BlockRef> blocks;
  pool.Take(c, ~0u, tick, blocks);
  return blocks;
}

void Free(BlockPool& pool, BlockRef block, uint64_t tick) {
  ASSERT_TRUE(pool.StartGrace(block));
  pool.EndGrace(block, tick);
}

TEST(BlockPool, HandsOutTheWholeHeapOnce) {
  BlockPool pool(kHeap, 10, kMaxSlabPages);
  std::vector<BlockRef> blocks = TakeAll(pool, kClass);
  EXPECT_EQ(blocks.size(), 4u * kShapes[kClass].blocks);
  std::set<uint64_t> offsets;
  for (BlockRef block : blocks) {
    EXPECT_TRUE(offsets.insert(block.heap_offset()).second);
    EXPECT_LE(block.heap_offset() + 104, kHeap);
  }
  EXPECT_EQ(pool.allocated_bytes(), blocks.size() * 104);
  EXPECT_EQ(pool.free_bytes(), kHeap - blocks.size() * 104);
  EXPECT_EQ(pool.Audit(), "");
  // Full is not an end: one comes back, one goes out.
  EXPECT_EQ(pool.Take(kClass, 1, 1, blocks), 0u);
  Free(pool, blocks.front(), 20);
  EXPECT_EQ(pool.Take(kClass, 5, 20, blocks), 1u);
  EXPECT_EQ(blocks.back().heap_offset(), blocks.front().heap_offset());
  EXPECT_EQ(blocks.back().generation(), blocks.front().generation() + 1);
}

TEST(BlockPool, FindBelievesNothing) {
  BlockPool pool(kHeap, 10, kMaxSlabPages);
  std::vector<BlockRef> blocks;
  ASSERT_EQ(pool.Take(kClass, 2, 1, blocks), 2u);
  BlockRef block = blocks[1];
  EXPECT_EQ(pool.Find(block.word()), block);
  EXPECT_EQ(pool.Find(block.word().WithFingerprint(77)), block);
  uint64_t at = block.heap_offset();
  uint32_t generation = block.generation();
  EXPECT_FALSE(pool.Find(SlotWord::Make(at + 8, kClass, 0, generation))) << "inside a block";
  EXPECT_FALSE(pool.Find(SlotWord::Make(at, kClass + 1, 0, generation))) << "another class";
  EXPECT_FALSE(pool.Find(SlotWord::Make(at, kRunClass, 0, generation)));
  EXPECT_FALSE(pool.Find(SlotWord::Make(at, kClass, 0, generation + 1)));
  EXPECT_FALSE(pool.Find(SlotWord::Make(at + 104, kClass, 0, generation))) << "free";
  EXPECT_FALSE(pool.Find(SlotWord::Make(kHeap, kClass, 0, generation))) << "behind the heap";
  EXPECT_FALSE(pool.Find(SlotWord::Make(SlotWord::kHeapLimit - 8, kClass, 0, generation)));
  EXPECT_FALSE(pool.Find(SlotWord::Empty()));
  EXPECT_FALSE(pool.Find(SlotWord::Moved()));
  EXPECT_FALSE(pool.Find(SlotWord(~uint64_t{0})));
  EXPECT_EQ(pool.StartGrace(block.word()), block);
  EXPECT_FALSE(pool.Find(block.word())) << "in grace";
  EXPECT_FALSE(pool.Allocated(block));
  EXPECT_FALSE(pool.StartGrace(block.word()));
  EXPECT_FALSE(pool.StartGrace(block));
}

TEST(BlockPool, TheTailOfASlabIsNoBlock) {
  BlockPool pool(kHeap, 10, kMaxSlabPages);
  std::vector<BlockRef> blocks = TakeAll(pool, kClass);
  uint64_t tail = uint64_t{kShapes[kClass].blocks} * 104;
  ASSERT_LT(tail, uint64_t{kMaxSlabPages} * kPageBytes);
  for (uint32_t g = 0; g < 2; ++g) {
    EXPECT_FALSE(pool.Find(SlotWord::Make(tail, kClass, 0, g)));
  }
}

TEST(BlockPool, Runs) {
  BlockPool pool(kHeap, 10, kMaxSlabPages);
  auto run = pool.TakeRun(100'000, 1);
  ASSERT_TRUE(run);
  EXPECT_EQ(pool.BytesOf(*run), 25u * kPageBytes);
  EXPECT_EQ(pool.allocated_bytes(), 25u * kPageBytes);
  EXPECT_EQ(pool.Find(run->word()), run);
  EXPECT_FALSE(
      pool.Find(SlotWord::Make(run->heap_offset() + kPageBytes, kRunClass, 0, run->generation())))
      << "a page inside a run is nothing's start";
  EXPECT_FALSE(pool.TakeRun(kHeap, 1));
  EXPECT_FALSE(pool.TakeRun(kHeap + 1, 1));
  EXPECT_FALSE(pool.TakeRun(~uint64_t{0}, 1));
  Free(pool, *run, 20);
  auto whole = pool.TakeRun(kHeap, 20);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->generation(), run->generation() + 1) << "the same page, used before";
  EXPECT_EQ(pool.Audit(), "");
}

// A class that shrinks must not keep its pages from the others.
TEST(BlockPool, EmptySlabsServeOtherClasses) {
  BlockPool pool(kHeap, 10, kMaxSlabPages);
  std::vector<BlockRef> blocks = TakeAll(pool, kClass);
  for (BlockRef block : blocks) ASSERT_TRUE(pool.StartGrace(block));
  for (BlockRef block : blocks) pool.EndGrace(block, 20);
  EXPECT_EQ(pool.use(kClass).bytes, uint64_t{kMaxSlabPages} * kPageBytes) << "one is kept";
  EXPECT_TRUE(pool.TakeRun(kHeap, 20)) << "that one too, when it is needed";
  EXPECT_EQ(pool.use(kClass).bytes, 0u);
  EXPECT_EQ(pool.Audit(), "");
}

TEST(BlockPool, ReformattedPagesGoOnAboveTheirGenerations) {
  BlockPool pool(kHeap, 10, kMaxSlabPages);
  std::vector<BlockRef> blocks = TakeAll(pool, kClass);
  uint16_t first = blocks.front().generation();
  for (BlockRef block : blocks) Free(pool, block, 20);
  std::vector<BlockRef> others = TakeAll(pool, ClassFor(512), 20);
  ASSERT_FALSE(others.empty());
  for (BlockRef block : others) EXPECT_EQ(block.generation(), first + 1);
}

// Blocks of one old slab that drifted far apart: the pages wait, other pages serve, and after the
// window they are back.
TEST(BlockPool, PagesWithWideSpreadRest) {
  constexpr uint64_t kGrace = 2;
  BlockPool pool(kMaxSlabPages * kPageBytes, kGrace, kMaxSlabPages);
  SizeClass c = ClassFor(1024);  // four to a page
  std::vector<BlockRef> blocks = TakeAll(pool, c);
  uint64_t tick = 1;
  auto churn = [&](size_t index, int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(pool.StartGrace(blocks[index]));
      tick += kGrace;
      pool.EndGrace(blocks[index], tick);
      std::vector<BlockRef> again;
      ASSERT_EQ(pool.Take(c, 1, tick, again), 1u);
      blocks[index] = again[0];
    }
  };
  churn(0, 340);
  churn(1, 680);
  for (BlockRef block : blocks) ASSERT_TRUE(pool.StartGrace(block));
  tick += kGrace;
  for (BlockRef block : blocks) pool.EndGrace(block, tick);
  EXPECT_FALSE(pool.TakeRun(kPageBytes, tick)) << "no page may be formatted yet";
  EXPECT_EQ(pool.resting_pages(), kMaxSlabPages);
  EXPECT_EQ(pool.Audit(), "");
  EXPECT_EQ(pool.free_bytes(), pool.heap_bytes()) << "resting pages are free memory";
  EXPECT_FALSE(pool.TakeRun(kPageBytes, tick + 256 * kGrace - 1));
  EXPECT_TRUE(pool.TakeRun(kPageBytes, tick + 256 * kGrace));
  EXPECT_EQ(pool.resting_pages(), 0u);
}

// Slabs of two sizes: where the shorter ones leave gaps there is room for more of them alone.
TEST(BlockPool, SlabsOfASmallHeapAreShort) {
  constexpr uint64_t kBytes = uint64_t{4} << 20;
  constexpr SizeClass kLong = ClassFor(9 * 1024);
  BlockPool pool(kBytes, 10);
  ASSERT_EQ(pool.shapes()[kClass].pages, kMinSlabPages);
  ASSERT_EQ(pool.shapes()[kLong].pages, 9u);
  const uint32_t per_slab = pool.shapes()[kClass].blocks;
  std::vector<BlockRef> blocks = TakeAll(pool, kClass);
  ASSERT_EQ(blocks.size(), kBytes / kPageBytes / kMinSlabPages * per_slab);
  EXPECT_EQ(pool.classes_in_use(), 1u);
  // Every other slab becomes empty.
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i / per_slab % 2 == 0) Free(pool, blocks[i], 20);
  }
  std::vector<BlockRef> others;
  EXPECT_FALSE(pool.scattered());
  EXPECT_EQ(pool.Take(kLong, 1, 20, others), 0u);
  EXPECT_TRUE(pool.scattered());
  EXPECT_EQ(pool.classes_in_use(), 1u);
  EXPECT_EQ(pool.free_page_bytes(), kBytes / 2);
  EXPECT_EQ(pool.free_slab_bytes(kLong), 0u);
  EXPECT_EQ(pool.free_slab_bytes(ClassFor(112)), kBytes / 2);
  EXPECT_EQ(TakeAll(pool, ClassFor(112), 20).size(),
            kBytes / kPageBytes / kMinSlabPages / 2 * pool.shapes()[ClassFor(112)].blocks);
  EXPECT_EQ(pool.classes_in_use(), 2u);
  EXPECT_EQ(pool.Audit(), "");
}

TEST(BlockPool, SixteenBitsOfGenerationWrap) {
  BlockPool pool(kHeap, 1, kMaxSlabPages);
  std::vector<BlockRef> blocks;
  ASSERT_EQ(pool.Take(kClass, 1, 1, blocks), 1u);
  BlockRef block = blocks[0];
  uint64_t tick = 1;
  for (int i = 0; i < 65536 + 3; ++i) {
    Free(pool, block, ++tick);
    blocks.clear();
    ASSERT_EQ(pool.Take(kClass, 1, tick, blocks), 1u);
    ASSERT_EQ(blocks[0].generation(), static_cast<uint16_t>(block.generation() + 1));
    block = blocks[0];
  }
  EXPECT_EQ(pool.Audit(), "");
}

// The target of the project: at most 40 B a record beyond key and value, of which 24 are the
// record's header and 8 * 16/15 / 0.8 the index.
TEST(BlockPool, MetadataOfSmallRecords) {
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  BlockPool pool(kBytes, 1000);
  std::vector<BlockRef> blocks = TakeAll(pool, kClass);
  double heap = static_cast<double>(kBytes) / static_cast<double>(blocks.size()) - 16 - 64;
  double metadata = static_cast<double>(pool.metadata_bytes()) / static_cast<double>(blocks.size());
  EXPECT_LE(heap + metadata + 8.0 * 16 / 15 / 0.8, 40.0)
      << "heap " << heap << " metadata " << metadata;
  EXPECT_LE(metadata, 4.6);
  RecordProperty("bytes_per_record", std::to_string(heap + metadata + 8.0 * 16 / 15 / 0.8));
}

}  // namespace
}  // namespace dunlin
