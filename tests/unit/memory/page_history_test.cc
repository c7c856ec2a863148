#include "common/memory/page_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/base/random.h"

namespace dunlin {
namespace {

NextBase Retire(std::vector<uint16_t> generations) { return RetirePage(generations); }

TEST(PageHistory, GoesOnFromTheHighest) {
  EXPECT_EQ(Retire({7, 9, 8}).base, 9);
  EXPECT_EQ(Retire({7}).base, 7);
  EXPECT_FALSE(Retire({7, 250}).rests);
  EXPECT_EQ(Retire({100, 300, 200}).base, 300);
}

TEST(PageHistory, AcrossTheWraps) {
  EXPECT_EQ(Retire({65534, 1, 65535}).base, 1);
  // 900 and 100 are nearer to each other through 1024 than the other way.
  EXPECT_EQ(Retire({900, 1024 + 100}).base, 1024 + 100);
  EXPECT_FALSE(Retire({900, 1024 + 100}).rests);
}

TEST(PageHistory, TooWideASpreadRests) {
  EXPECT_FALSE(Retire({0, 256, 512}).rests);
  EXPECT_TRUE(Retire({0, 340, 680}).rests);
}

// The arc against trying every base: no base needs a smaller jump from the farthest of them.
TEST(PageHistory, ShortestArcAgainstBruteForce) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint16_t> generations(random.Between(1, 12));
    for (uint16_t& g : generations) g = static_cast<uint16_t>(random.Next());
    NextBase next = RetirePage(generations);
    uint32_t best = 1024;
    auto farthest = [&](uint32_t upper) {
      uint32_t most = 0;
      for (uint16_t g : generations) most = std::max(most, (upper - g) % 1024u);
      return most;
    };
    for (uint16_t g : generations) best = std::min(best, farthest(g));
    ASSERT_NE(std::find(generations.begin(), generations.end(), next.base), generations.end());
    ASSERT_EQ(farthest(next.base), best);
    ASSERT_EQ(next.rests, best > kMaxSpread);
  }
}

}  // namespace
}  // namespace dunlin
