#include "common/memory/grace_queue.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

BlockRef Block(uint64_t n) { return BlockRef(n * 64, 5, 1); }

TEST(GraceQueue, WaitsForTheGracePeriod) {
  GraceQueue queue(10);
  queue.Push(Block(1), 100);
  EXPECT_FALSE(queue.Due(109));
  EXPECT_EQ(queue.Pop(109, {109, 0}), std::nullopt);
  EXPECT_TRUE(queue.Due(110));
  EXPECT_EQ(queue.Pop(110, {110, 0}), Block(1));
  EXPECT_EQ(queue.Pop(110, {110, 0}), std::nullopt);
}

TEST(GraceQueue, ACallThatBeganBeforeHoldsItBack) {
  GraceQueue queue(10);
  queue.Push(Block(1), 100);
  EXPECT_EQ(queue.Pop(500, {500, 99}), std::nullopt);
  EXPECT_EQ(queue.Pop(500, {500, 100}), std::nullopt) << "in the same tick counts as before";
  EXPECT_EQ(queue.Pop(500, {500, 101}), Block(1));
}

TEST(GraceQueue, ALookFromBeforeTheReturnSaysNothing) {
  GraceQueue queue(10);
  queue.Push(Block(1), 100);
  EXPECT_EQ(queue.Pop(110, {100, 0}), std::nullopt);
  EXPECT_EQ(queue.Pop(110, {101, 0}), Block(1));
}

TEST(GraceQueue, FirstInFirstOut) {
  GraceQueue queue(10);
  queue.Push(Block(1), 100);
  queue.Push(Block(2), 100);
  queue.Push(Block(3), 105);
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.Pop(112, {112, 0}), Block(1));
  EXPECT_EQ(queue.Pop(112, {112, 0}), Block(2));
  EXPECT_EQ(queue.Pop(112, {112, 0}), std::nullopt);
  EXPECT_EQ(queue.Pop(115, {115, 0}), Block(3));
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.Due(1000));
}

}  // namespace
}  // namespace dunlin
