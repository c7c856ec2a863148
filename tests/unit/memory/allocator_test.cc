#include "common/memory/allocator.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

constexpr uint64_t kHeap = uint64_t{1} << 20;
constexpr SizeClass kClass = ClassFor(104);

class AllocatorTest : public testing::Test {
 protected:
  BlockRef TakeOne(uint64_t tick) {
    std::vector<BlockRef> blocks;
    EXPECT_EQ(allocator_.Take(kClass, 1, tick, blocks), 1u);
    return blocks.at(0);
  }
  Allocator allocator_{kHeap, 100};
};

TEST_F(AllocatorTest, AReturnedBlockWaitsThenComesAgain) {
  BlockRef block = TakeOne(1);
  EXPECT_TRUE(allocator_.Return(block.word().WithFingerprint(5), 10));
  EXPECT_EQ(allocator_.pool().grace_bytes(), 104u);
  EXPECT_EQ(allocator_.Advance(109, {109, 0}, 10), 0u);
  EXPECT_EQ(allocator_.Advance(110, {110, 0}, 10), 1u);
  EXPECT_EQ(allocator_.pool().grace_bytes(), 0u);
  BlockRef again = TakeOne(110);
  EXPECT_EQ(again.heap_offset(), block.heap_offset());
  EXPECT_NE(again.generation(), block.generation());
}

TEST_F(AllocatorTest, RefusesWhatIsNotTheReturnersToReturn) {
  BlockRef block = TakeOne(1);
  EXPECT_TRUE(allocator_.Return(block.word(), 10));
  EXPECT_FALSE(allocator_.Return(block.word(), 11)) << "twice";
  allocator_.Advance(200, {200, 0}, 10);
  EXPECT_FALSE(allocator_.Return(block.word(), 201)) << "free";
  BlockRef again = TakeOne(201);
  ASSERT_EQ(again.heap_offset(), block.heap_offset());
  EXPECT_FALSE(allocator_.Return(block.word(), 202)) << "another's by now";
  EXPECT_FALSE(allocator_.Return(SlotWord(0x123456789), 202));
  EXPECT_EQ(allocator_.returns_refused(), 4u);
  EXPECT_TRUE(allocator_.Return(again.word(), 202));
}

TEST_F(AllocatorTest, ReturnIfSameComparesAllSixteenBits) {
  BlockRef block = TakeOne(1);
  BlockRef other(block.heap_offset(), kClass, static_cast<uint16_t>(block.generation() + 1024));
  EXPECT_FALSE(allocator_.ReturnIfSame(other, 5));
  EXPECT_TRUE(allocator_.ReturnIfSame(block, 5));
  EXPECT_FALSE(allocator_.ReturnIfSame(block, 5));
  EXPECT_EQ(allocator_.returns_refused(), 0u);
}

TEST_F(AllocatorTest, AdvanceIsBounded) {
  std::vector<BlockRef> blocks;
  ASSERT_EQ(allocator_.Take(kClass, 50, 1, blocks), 50u);
  for (BlockRef block : blocks) ASSERT_TRUE(allocator_.Return(block.word(), 2));
  EXPECT_EQ(allocator_.Advance(500, {500, 0}, 20), 20u);
  EXPECT_EQ(allocator_.Advance(500, {500, 0}, 20), 20u);
  EXPECT_EQ(allocator_.Advance(500, {500, 0}, 20), 10u);
  EXPECT_EQ(allocator_.blocks_in_grace(), 0u);
}

TEST_F(AllocatorTest, FullLosesNothing) {
  std::vector<BlockRef> blocks;
  uint32_t count = allocator_.Take(kClass, ~0u, 1, blocks);
  EXPECT_EQ(allocator_.Take(kClass, 1, 1, blocks), 0u);
  EXPECT_FALSE(allocator_.TakeRun(kPageBytes, 1));
  for (BlockRef block : blocks) ASSERT_EQ(allocator_.pool().Find(block.word()), block);
  for (BlockRef block : blocks) ASSERT_TRUE(allocator_.Return(block.word(), 1));
  EXPECT_EQ(allocator_.Take(kClass, 1, 50, blocks), 0u) << "all of it still waits";
  EXPECT_EQ(allocator_.Advance(101, {101, 0}, ~0u), count);
  EXPECT_TRUE(allocator_.TakeRun(kHeap, 101));
}

}  // namespace
}  // namespace dunlin
