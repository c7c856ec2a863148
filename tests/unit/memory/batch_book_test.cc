#include "common/memory/batch_book.h"

#include <gtest/gtest.h>

#include <deque>

#include "common/base/random.h"

namespace dunlin {
namespace {

std::vector<BlockRef> Blocks(uint64_t first, uint64_t count) {
  std::vector<BlockRef> blocks;
  for (uint64_t i = first; i < first + count; ++i) blocks.emplace_back(i * 64, 5, 1);
  return blocks;
}

TEST(BatchBook, ResolvesAllUpToABatch) {
  BatchBook book;
  EXPECT_EQ(book.Add(Blocks(0, 2)), 1u);
  EXPECT_EQ(book.Add(Blocks(2, 2)), 2u);
  EXPECT_EQ(book.Add(Blocks(4, 1)), 3u);
  EXPECT_EQ(book.blocks().size(), 5u);
  EXPECT_TRUE(book.Resolve(2));
  ASSERT_EQ(book.blocks().size(), 1u);
  EXPECT_EQ(book.blocks()[0], Blocks(4, 1)[0]);
  EXPECT_TRUE(book.Resolve(0));
  EXPECT_TRUE(book.Resolve(2)) << "said again on a later message";
  EXPECT_TRUE(book.Resolve(3));
  EXPECT_TRUE(book.blocks().empty());
}

TEST(BatchBook, RefusesABatchThatWasNeverHandedOut) {
  BatchBook book;
  EXPECT_FALSE(book.Resolve(1));
  EXPECT_EQ(book.Add(Blocks(0, 1)), 1u);
  EXPECT_FALSE(book.Resolve(2));
  EXPECT_EQ(book.blocks().size(), 1u) << "nothing is done on a refusal";
}

TEST(BatchBook, PruningForgetsBlocksAndKeepsTheBatchesRight) {
  BatchBook book;
  book.Add(Blocks(0, 3));
  book.Add(Blocks(3, 2));
  book.Add(Blocks(5, 3));
  book.Prune([](BlockRef b) { return b.heap_offset() / 64 % 2 == 0 && b.heap_offset() != 4 * 64; });
  EXPECT_EQ(std::vector<BlockRef>(book.blocks().begin(), book.blocks().end()),
            (std::vector<BlockRef>{Blocks(0, 1)[0], Blocks(2, 1)[0], Blocks(6, 1)[0]}));
  EXPECT_TRUE(book.Resolve(2)) << "a batch of which nothing is left";
  EXPECT_EQ(book.blocks().size(), 1u);
  EXPECT_TRUE(book.Resolve(3));
  EXPECT_TRUE(book.blocks().empty());
}

TEST(BatchBook, AsksForPruningWhenItHasDoubled) {
  BatchBook book;
  uint64_t added = 0;
  while (!book.NeedsPruning()) {
    book.Add(Blocks(added, 1000));
    added += 1000;
    ASSERT_LT(added, 200'000u);
  }
  book.Prune([](BlockRef) { return true; });
  EXPECT_FALSE(book.NeedsPruning());
  for (uint64_t more = 0; more < added; more += 1000) book.Add(Blocks(added + more, 1000));
  EXPECT_FALSE(book.NeedsPruning()) << "pruned again without having doubled by much";
}

TEST(BatchBook, AgainstASimpleModel) {
  Random random(4);
  BatchBook book;
  std::deque<std::pair<uint64_t, BlockRef>> model;
  uint64_t next = 0;
  uint64_t last = 0;
  uint64_t resolved = 0;
  for (int step = 0; step < 20000; ++step) {
    if (random.OneIn(3) && last > resolved) {
      resolved = random.Between(resolved, last);
      ASSERT_TRUE(book.Resolve(resolved));
      while (!model.empty() && model.front().first <= resolved) model.pop_front();
    } else if (random.OneIn(50)) {
      uint64_t keep = random.Below(3);
      book.Prune([&](BlockRef b) { return b.heap_offset() / 64 % 3 == keep; });
      std::erase_if(model, [&](const auto& e) { return e.second.heap_offset() / 64 % 3 != keep; });
    } else {
      std::vector<BlockRef> blocks = Blocks(next, random.Between(1, 9));
      next += blocks.size();
      last = book.Add(blocks);
      for (BlockRef block : blocks) model.emplace_back(last, block);
    }
    ASSERT_EQ(book.blocks().size(), model.size());
    for (size_t i = 0; i < model.size(); ++i) ASSERT_EQ(book.blocks()[i], model[i].second);
  }
}

}  // namespace
}  // namespace dunlin
