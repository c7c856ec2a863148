#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "common/base/random.h"
#include "common/memory/block_pool.h"
#include "common/memory/slab_shape.h"

namespace dunlin {
namespace {

constexpr uint64_t kSlabBytes = uint64_t{kMaxSlabPages} * kPageBytes;
constexpr uint64_t kHeap = 16 * kSlabBytes;
constexpr SizeClass kClass = ClassFor(1024);
constexpr uint32_t kPerSlab = ShapeOf(kClass, kMaxSlabPages).blocks;
constexpr uint64_t kGrace = 10;

class BlockPoolMarksTest : public testing::Test {
 protected:
  std::vector<BlockRef> Take(uint32_t count, SizeClass c = kClass) {
    std::vector<BlockRef> blocks;
    EXPECT_EQ(pool_.Take(c, count, tick_, blocks), count);
    return blocks;
  }
  void Free(BlockRef block) {
    ASSERT_TRUE(pool_.StartGrace(block));
    tick_ += kGrace;
    pool_.EndGrace(block, tick_);
  }
  void SuspectAll(uint32_t most = 1000) {
    uint64_t cursor = 0;
    while (cursor != BlockPool::kMarksEnd) cursor = pool_.SuspectAll(cursor, most);
  }
  std::set<uint64_t> Suspects(uint32_t most = 1000) {
    std::vector<BlockRef> blocks;
    uint64_t cursor = 0;
    while (cursor != BlockPool::kMarksEnd) cursor = pool_.CollectSuspects(cursor, most, blocks);
    std::set<uint64_t> suspects;
    for (BlockRef block : blocks) EXPECT_TRUE(suspects.insert(block.raw()).second);
    return suspects;
  }
  static std::set<uint64_t> Set(const std::vector<BlockRef>& blocks) {
    std::set<uint64_t> set;
    for (BlockRef block : blocks) set.insert(block.raw());
    return set;
  }
  uint64_t Sum() const {
    return pool_.free_bytes() + pool_.allocated_bytes() + pool_.grace_bytes() + pool_.index_bytes();
  }

  BlockPool pool_{kHeap, kGrace, kMaxSlabPages};
  uint64_t tick_ = 1;
};

TEST_F(BlockPoolMarksTest, SuspectsAreWhatWasNeitherAcquittedNorFreed) {
  for (uint32_t most : {1u, 7u, 100'000u}) {
    std::vector<BlockRef> blocks = Take(3 * kPerSlab / 2);
    for (BlockRef block : Take(50, ClassFor(64))) blocks.push_back(block);
    for (int i = 0; i < 5; ++i) blocks.push_back(*pool_.TakeRun(40'000, tick_));
    EXPECT_TRUE(Suspects(most).empty()) << "what was just taken is not suspect";
    SuspectAll(most);
    EXPECT_EQ(Suspects(most), Set(blocks));

    Random random(most);
    std::vector<BlockRef> left;
    for (BlockRef block : blocks) {
      switch (random.Below(4)) {
        case 0:
          pool_.Acquit(block);
          break;
        case 1:
          pool_.Acquit(block.word().WithFingerprint(123).Frozen());
          break;
        case 2:
          ASSERT_TRUE(pool_.StartGrace(block));
          break;
        case 3:
          left.push_back(block);
      }
    }
    EXPECT_EQ(Suspects(most), Set(left));
    tick_ += kGrace;
    for (BlockRef block : blocks) {
      if (!pool_.Allocated(block)) continue;
      ASSERT_TRUE(pool_.StartGrace(block));
    }
    tick_ += kGrace;
    for (BlockRef block : blocks) pool_.EndGrace(block, tick_);
    EXPECT_TRUE(Suspects(most).empty());
    EXPECT_EQ(pool_.Audit(), "");
  }
}

TEST_F(BlockPoolMarksTest, AcquittalBelievesNothing) {
  const std::vector<BlockRef> blocks = Take(2);
  const BlockRef run = *pool_.TakeRun(8192, tick_);
  SuspectAll();
  const std::set<uint64_t> all = Suspects();
  const BlockRef block = blocks[0];
  const uint64_t at = block.heap_offset();
  const uint32_t generation = block.generation();
  pool_.Acquit(SlotWord::Make(at, kClass, 0, generation + 1));
  pool_.Acquit(SlotWord::Make(at, kClass + 1, 0, generation));
  pool_.Acquit(SlotWord::Make(at + 8, kClass, 0, generation));
  pool_.Acquit(SlotWord::Make(run.heap_offset() + kPageBytes, kRunClass, 0, run.generation()));
  pool_.Acquit(SlotWord::Make(kHeap, kClass, 0, generation));
  pool_.Acquit(SlotWord::Empty());
  pool_.Acquit(SlotWord::Moved());
  pool_.Acquit(SlotWord(~uint64_t{0}));
  pool_.Acquit(BlockRef(at, kClass, static_cast<uint16_t>(generation + 1024)));
  EXPECT_EQ(Suspects(), all);
  pool_.Acquit(run.word());
  EXPECT_EQ(Suspects(), Set(blocks));
}

TEST_F(BlockPoolMarksTest, ABlockThatWasFreedAndTakenAgainIsNotSuspect) {
  const BlockRef block = Take(1)[0];
  const BlockRef run = *pool_.TakeRun(8192, tick_);
  SuspectAll();
  Free(block);
  Free(run);
  const BlockRef again = Take(1)[0];
  ASSERT_EQ(again.heap_offset(), block.heap_offset());
  ASSERT_TRUE(pool_.TakeRun(8192, tick_));
  EXPECT_TRUE(Suspects().empty());
}

TEST_F(BlockPoolMarksTest, TheHandPassesEachBlockOnceARoundAndTakesItsUses) {
  const std::vector<BlockRef> blocks = Take(2 * kPerSlab);
  // Every third was used once, one often.
  for (size_t i = 0; i < blocks.size(); i += 3) pool_.NoteUse(blocks[i].word());
  for (int i = 0; i < 100; ++i) pool_.NoteUse(blocks[1].word());
  std::vector<BlockRef> out;
  const uint32_t all = 2 * kPerSlab;
  EXPECT_EQ(pool_.AdvanceHand(kClass, all, all, out), all);
  std::set<uint64_t> expected = Set(blocks);
  for (size_t i = 0; i < blocks.size(); i += 3) expected.erase(blocks[i].raw());
  expected.erase(blocks[1].raw());
  EXPECT_EQ(Set(out), expected);
  EXPECT_EQ(out.size(), expected.size());

  // The uses are gone; a count that is full lasts for as many rounds.
  for (uint32_t round = 2; round <= BlockPool::kMostUses; ++round) {
    out.clear();
    EXPECT_EQ(pool_.AdvanceHand(kClass, all, all, out), all);
    EXPECT_EQ(Set(out).count(blocks[1].raw()), 0u) << round;
    EXPECT_EQ(out.size(), blocks.size() - 1);
  }
  out.clear();
  pool_.AdvanceHand(kClass, all, all, out);
  EXPECT_EQ(Set(out), Set(blocks));
}

TEST_F(BlockPoolMarksTest, TheHandStopsWhereItIsTold) {
  const std::vector<BlockRef> blocks = Take(kPerSlab);
  std::vector<BlockRef> out;
  EXPECT_EQ(pool_.AdvanceHand(kClass, 1000, 3, out), 3u);
  EXPECT_EQ(out.size(), 3u);
  pool_.NoteUse(blocks[3].word());
  EXPECT_EQ(pool_.AdvanceHand(kClass, 2, 100, out), 2u);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[3], blocks[4]) << "it goes on where it stood, and passed a used one";
}

TEST_F(BlockPoolMarksTest, TheHandFindsAnEndWhereThereIsNothing) {
  std::vector<BlockRef> out;
  EXPECT_EQ(pool_.AdvanceHand(kClass, 100, 100, out), 0u);
  EXPECT_EQ(pool_.AdvanceHand(kRunClass, 100, 100, out), 0u);
  const std::vector<BlockRef> others = Take(10, ClassFor(64));
  EXPECT_EQ(pool_.AdvanceHand(kClass, 100, 100, out), 0u);
  // A slab that is kept though it is empty, and one whose blocks are all in grace.
  const BlockRef one = Take(1)[0];
  ASSERT_TRUE(pool_.StartGrace(one));
  EXPECT_EQ(pool_.AdvanceHand(kClass, 100, 100, out), 0u);
  tick_ += kGrace;
  pool_.EndGrace(one, tick_);
  EXPECT_EQ(pool_.AdvanceHand(kClass, 100, 100, out), 0u);
  EXPECT_TRUE(out.empty());
  const BlockRef two = Take(1)[0];
  EXPECT_EQ(pool_.AdvanceHand(kClass, 1, 100, out), 1u);
  EXPECT_EQ(out, std::vector<BlockRef>{two});
}

TEST_F(BlockPoolMarksTest, TheHandOfRuns) {
  std::vector<BlockRef> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(*pool_.TakeRun(50'000, tick_));
  pool_.NoteUse(runs[2].word());
  Free(runs[4]);
  runs.pop_back();
  std::vector<BlockRef> out;
  EXPECT_EQ(pool_.AdvanceHand(kRunClass, 4, 100, out), 4u);
  EXPECT_EQ(out, (std::vector<BlockRef>{runs[0], runs[1], runs[3]}));
  out.clear();
  EXPECT_EQ(pool_.AdvanceHand(kRunClass, 4, 2, out), 2u);
  EXPECT_EQ(out.size(), 2u);
}

TEST_F(BlockPoolMarksTest, UsesOfWhatIsNotThereAreIgnored) {
  const BlockRef block = Take(1)[0];
  pool_.NoteUse(SlotWord::Make(block.heap_offset(), kClass, 0, block.generation() + 1));
  pool_.NoteUse(SlotWord(~uint64_t{0}));
  pool_.NoteUse(block.word());
  Free(block);
  const BlockRef again = Take(1)[0];
  ASSERT_EQ(again.heap_offset(), block.heap_offset());
  std::vector<BlockRef> out;
  pool_.AdvanceHand(kClass, 1, 1, out);
  EXPECT_EQ(out.size(), 1u) << "a new record has no uses";
}

TEST_F(BlockPoolMarksTest, ClosesOnlyWhatFindsRoomElsewhereTheEmptiestFirst) {
  std::vector<BlockRef> blocks = Take(4 * kPerSlab);
  auto keep = [&](uint32_t slab, uint32_t count) {
    for (uint32_t b = count; b < kPerSlab; ++b) Free(blocks[slab * kPerSlab + b]);
  };
  EXPECT_EQ(pool_.CloseSparse(100), 0u) << "all are full";
  keep(0, kPerSlab / 2 + 1);
  keep(1, kPerSlab / 4);
  keep(2, kPerSlab / 8);
  // Slab 3 is full. The blocks of 2 fit into 0 and 1; then those of 1 into what is left of 0.
  EXPECT_EQ(pool_.CloseSparse(1), 1u);
  EXPECT_EQ(pool_.closed_slabs(), 1u);
  EXPECT_TRUE(pool_.InClosedSlab(blocks[2 * kPerSlab].word()));
  EXPECT_FALSE(pool_.InClosedSlab(blocks[0].word()));
  EXPECT_FALSE(pool_.InClosedSlab(SlotWord(~uint64_t{0})));
  EXPECT_EQ(pool_.CloseSparse(100), 1u);
  EXPECT_TRUE(pool_.InClosedSlab(blocks[kPerSlab].word()));
  EXPECT_FALSE(pool_.InClosedSlab(blocks[0].word())) << "more than half in use";
  EXPECT_EQ(pool_.Audit(), "");

  // What is handed out now comes from the open one, then from fresh slabs.
  for (BlockRef block : Take(kPerSlab)) EXPECT_FALSE(pool_.InClosedSlab(block.word()));
  EXPECT_EQ(pool_.OpenClosed(), 2u);
  EXPECT_EQ(pool_.closed_slabs(), 0u);
  EXPECT_FALSE(pool_.InClosedSlab(blocks[kPerSlab].word()));
  EXPECT_EQ(pool_.Audit(), "");
}

TEST_F(BlockPoolMarksTest, WithFreePagesScatteredTheHeapsEndIsEmptiedFirst) {
  const std::vector<BlockRef> blocks = Take(16 * kPerSlab);
  const auto free = [&](uint32_t slab, uint32_t but) {
    for (uint32_t b = but; b < kPerSlab; ++b) Free(blocks[slab * kPerSlab + b]);
  };
  free(5, 0);
  free(9, 0);
  free(2, 1);
  free(14, 64);
  const SlotWord emptiest = blocks[2 * kPerSlab].word();
  const SlotWord last = blocks[14 * kPerSlab].word();
  ASSERT_EQ(pool_.CloseSparse(1), 1u);
  EXPECT_TRUE(pool_.InClosedSlab(emptiest));
  ASSERT_EQ(pool_.OpenClosed(), 1u);
  ASSERT_FALSE(pool_.TakeRun(kSlabBytes + 1, tick_));
  ASSERT_TRUE(pool_.scattered());
  ASSERT_EQ(pool_.CloseSparse(1), 1u);
  EXPECT_TRUE(pool_.InClosedSlab(last));
  EXPECT_FALSE(pool_.InClosedSlab(emptiest));
  EXPECT_FALSE(pool_.scattered());
  EXPECT_EQ(pool_.Audit(), "");
}

TEST_F(BlockPoolMarksTest, ASlabAloneStaysOpen) {
  std::vector<BlockRef> blocks = Take(kPerSlab + 1);
  EXPECT_EQ(pool_.CloseSparse(100), 0u) << "its record would need a new slab";
  Free(blocks[0]);
  EXPECT_EQ(pool_.CloseSparse(100), 1u);
  EXPECT_TRUE(pool_.InClosedSlab(blocks[kPerSlab].word()));
}

TEST_F(BlockPoolMarksTest, PagesComeBackWhenAClosedSlabIsEmptied) {
  std::vector<BlockRef> blocks = Take(2 * kPerSlab);
  for (uint32_t b = 1; b < kPerSlab; ++b) Free(blocks[b]);
  for (uint32_t b = 1; b < kPerSlab; ++b) Free(blocks[kPerSlab + b]);
  EXPECT_EQ(pool_.CloseSparse(100), 1u);
  const bool first = pool_.InClosedSlab(blocks[0].word());
  const BlockRef last = first ? blocks[0] : blocks[kPerSlab];
  const uint64_t before = pool_.free_page_bytes();
  EXPECT_EQ(Take(1).size(), 1u);
  ASSERT_TRUE(pool_.StartGrace(last));
  tick_ += kGrace;
  EXPECT_EQ(pool_.free_page_bytes(), before);
  pool_.EndGrace(last, tick_);
  EXPECT_EQ(pool_.free_page_bytes(), before + kSlabBytes);
  EXPECT_EQ(pool_.closed_slabs(), 0u);
  EXPECT_EQ(pool_.OpenClosed(), 0u);
  EXPECT_EQ(pool_.Audit(), "");
  EXPECT_EQ(Sum(), kHeap);
  Take(3 * kPerSlab);
  EXPECT_EQ(pool_.Audit(), "");
}

TEST_F(BlockPoolMarksTest, PagesTakenForTheIndexNeverComeBack) {
  const uint64_t free = pool_.free_bytes();
  const std::optional<uint64_t> first = pool_.TakeForIndex(kMaxSlabPages, tick_);
  ASSERT_TRUE(first);
  EXPECT_EQ(pool_.index_bytes(), kSlabBytes);
  EXPECT_EQ(pool_.free_bytes(), free - kSlabBytes);
  EXPECT_EQ(Sum(), kHeap);
  EXPECT_EQ(pool_.Audit(), "");
  // Everything else, in blocks, in runs, and back again.
  for (SizeClass c : {ClassFor(64), kClass, ClassFor(32768)}) {
    std::vector<BlockRef> blocks;
    pool_.Take(c, ~0u, tick_, blocks);
    for (BlockRef block : blocks) {
      const uint64_t end = block.heap_offset() + BlockBytes(c);
      ASSERT_TRUE(end <= *first || block.heap_offset() >= *first + kSlabBytes);
    }
    EXPECT_EQ(Sum(), kHeap);
    EXPECT_FALSE(pool_.TakeForIndex(1, tick_));
    for (BlockRef block : blocks) ASSERT_TRUE(pool_.StartGrace(block));
    tick_ += kGrace;
    for (BlockRef block : blocks) pool_.EndGrace(block, tick_);
    EXPECT_EQ(pool_.Audit(), "");
  }
  EXPECT_FALSE(pool_.TakeRun(kHeap, tick_));
  EXPECT_TRUE(pool_.TakeRun(kHeap - kSlabBytes, tick_));
  EXPECT_EQ(pool_.Audit(), "");
  EXPECT_EQ(Sum(), kHeap);
  // Hostile words into it.
  for (SizeClass c : {SizeClass{1}, kClass, kRunClass}) {
    const SlotWord word = SlotWord::Make(*first, c, 0, 0);
    EXPECT_FALSE(pool_.Find(word));
    EXPECT_FALSE(pool_.StartGrace(word));
    EXPECT_FALSE(pool_.InClosedSlab(word));
    pool_.Acquit(word);
    pool_.NoteUse(word);
    pool_.Prefetch(word);
  }
  EXPECT_EQ(pool_.Audit(), "");
}

// Marks, closed slabs and uses under a random life of the pool.
TEST_F(BlockPoolMarksTest, ARandomLifeKeepsTheBooksRight) {
  Random random(11);
  std::vector<BlockRef> live;
  std::set<uint64_t> suspects;
  for (int round = 0; round < 3000; ++round) {
    switch (random.Below(8)) {
      case 0:
      case 1: {
        std::vector<BlockRef> out;
        pool_.Take(random.Below(2) == 0 ? kClass : ClassFor(5000),
                   static_cast<uint32_t>(random.Below(60)), tick_, out);
        live.insert(live.end(), out.begin(), out.end());
        break;
      }
      case 2:
        pool_.CloseSparse(static_cast<uint32_t>(random.Below(4)));
        break;
      case 3:
        if (random.Below(4) == 0) pool_.OpenClosed();
        break;
      case 4:
        if (random.Below(20) != 0) break;
        SuspectAll(static_cast<uint32_t>(1 + random.Below(2000)));
        suspects = Set(live);
        break;
      case 5: {
        std::vector<BlockRef> out;
        pool_.AdvanceHand(kClass, 10, 5, out);
        for (BlockRef block : out) ASSERT_TRUE(pool_.Allocated(block));
        break;
      }
      default:
        for (int i = 0; i < 40 && !live.empty(); ++i) {
          std::swap(live[random.Below(live.size())], live.back());
          if (random.Below(4) == 0) {
            pool_.Acquit(live.back().word());
            suspects.erase(live.back().raw());
            continue;
          }
          Free(live.back());
          suspects.erase(live.back().raw());
          live.pop_back();
        }
    }
    if (round % 100 == 0) {
      ASSERT_EQ(pool_.Audit(), "") << round;
      ASSERT_EQ(Suspects(), suspects) << round;
      ASSERT_EQ(Sum(), kHeap);
    }
  }
}

}  // namespace
}  // namespace dunlin
