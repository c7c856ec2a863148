#include "common/memory/batch_book.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

TEST(BatchBook, ResolvesAllUpToABatch) {
  BatchBook book;
  std::vector<BlockRef> blocks = {BlockRef(0, 5, 1), BlockRef(64, 5, 1)};
  EXPECT_EQ(book.Add(blocks), 1u);
  EXPECT_EQ(book.Add(blocks), 2u);
  EXPECT_EQ(book.Add({blocks.data(), 1}), 3u);
  EXPECT_EQ(book.blocks(), 5u);
  EXPECT_TRUE(book.Resolve(2));
  EXPECT_EQ(book.blocks(), 1u);
  ASSERT_EQ(book.unresolved().size(), 1u);
  EXPECT_EQ(book.unresolved().front().number, 3u);
  EXPECT_TRUE(book.Resolve(0));
  EXPECT_TRUE(book.Resolve(2)) << "said again on a later message";
  EXPECT_TRUE(book.Resolve(3));
  EXPECT_EQ(book.blocks(), 0u);
}

TEST(BatchBook, RefusesABatchThatWasNeverHandedOut) {
  BatchBook book;
  EXPECT_FALSE(book.Resolve(1));
  std::vector<BlockRef> blocks = {BlockRef(0, 5, 1)};
  EXPECT_EQ(book.Add(blocks), 1u);
  EXPECT_FALSE(book.Resolve(2));
  EXPECT_EQ(book.blocks(), 1u) << "nothing is done on a refusal";
}

}  // namespace
}  // namespace dunlin
