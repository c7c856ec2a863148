#include "common/fabric/verbs/staging_ring.h"

#include <deque>
#include <random>

#include "gtest/gtest.h"

namespace dunlin {
namespace {

TEST(StagingRingTest, HandsOutAllOfItWhenNothingIsOut) {
  StagingRing ring(1024);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(ring.Take(1024), 0u);
    EXPECT_FALSE(ring.Take(8).has_value());
    ring.GiveBackTo(ring.mark());
    ASSERT_EQ(ring.Take(100), 0u);
    ring.GiveBackTo(ring.mark());
  }
}

TEST(StagingRingTest, TakingNothingIsHarmless) {
  StagingRing ring(1024);
  ASSERT_TRUE(ring.Take(512).has_value());
  const uint64_t first = ring.mark();
  ASSERT_TRUE(ring.Take(0).has_value());
  const uint64_t second = ring.mark();
  ring.GiveBackTo(first);
  ASSERT_TRUE(ring.Take(1024).has_value());
  ring.GiveBackTo(second);
  EXPECT_FALSE(ring.Take(8).has_value()) << "an older mark gave back what was taken later";
}

TEST(StagingRingTest, PiecesNeverOverlap) {
  std::mt19937 random(3);
  StagingRing ring(4096);
  struct Piece {
    uint32_t at, bytes;
    uint64_t mark;
  };
  std::deque<Piece> out;
  uint64_t taken = 0;
  for (int step = 0; step < 100'000; ++step) {
    if (random() % 2 == 0) {
      const uint32_t bytes = random() % 1500;
      const auto at = ring.Take(bytes);
      if (!at.has_value()) {
        ASSERT_FALSE(out.empty());
        continue;
      }
      ++taken;
      ASSERT_EQ(*at % 8, 0u);
      ASSERT_LE(*at + bytes, 4096u);
      for (const Piece& piece : out) {
        ASSERT_TRUE(*at + bytes <= piece.at || piece.at + piece.bytes <= *at || bytes == 0 ||
                    piece.bytes == 0);
      }
      out.push_back({*at, bytes, ring.mark()});
    } else if (!out.empty()) {
      ring.GiveBackTo(out.front().mark);
      out.pop_front();
    }
  }
  EXPECT_GT(taken, 10'000u);
}

}  // namespace
}  // namespace dunlin
