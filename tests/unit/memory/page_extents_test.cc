#include "common/memory/page_extents.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/base/random.h"

namespace dunlin {
namespace {

TEST(PageExtents, TakesTheSmallestThatFits) {
  PageExtents extents(100);
  ASSERT_EQ(extents.Take(10), 0u);
  ASSERT_EQ(extents.Take(5), 10u);
  ASSERT_EQ(extents.Take(20), 15u);
  extents.Give(0, 10);
  extents.Give(15, 20);  // grows to the end: 15..100
  EXPECT_EQ(extents.largest(), 85u);
  EXPECT_EQ(extents.Take(8), 0u) << "the gap of 10 fits better than the 85";
  EXPECT_EQ(extents.Take(3), 15u);
  EXPECT_EQ(extents.Take(2), 8u);
  EXPECT_EQ(extents.free_pages(), 82u);
}

TEST(PageExtents, MergesWithBothNeighbours) {
  PageExtents extents(30);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(extents.Take(10));
  EXPECT_EQ(extents.Take(1), std::nullopt);
  extents.Give(0, 10);
  extents.Give(20, 10);
  EXPECT_EQ(extents.extents(), 2u);
  EXPECT_EQ(extents.Take(11), std::nullopt);
  extents.Give(10, 10);
  EXPECT_EQ(extents.extents(), 1u);
  EXPECT_EQ(extents.Take(30), 0u);
  EXPECT_EQ(extents.free_pages(), 0u);
}

TEST(PageExtents, NothingToTakeFrom) {
  PageExtents extents(0);
  EXPECT_EQ(extents.Take(1), std::nullopt);
  EXPECT_EQ(extents.largest(), 0u);
}

TEST(PageExtentsDeathTest, GivingTwiceIsCaught) {
  PageExtents extents(10);
  ASSERT_TRUE(extents.Take(10));
  extents.Give(2, 3);
  EXPECT_DEATH(extents.Give(4, 2), "Check|check|<=");
}

TEST(PageExtents, AgainstABitmap) {
  Random random(7);
  PageExtents extents(200);
  std::vector<bool> taken(200, false);
  std::vector<std::pair<uint32_t, uint32_t>> held;
  for (int step = 0; step < 20000; ++step) {
    if (random.OneIn(2) || held.empty()) {
      uint32_t pages = static_cast<uint32_t>(random.Between(1, 20));
      auto first = extents.Take(pages);
      if (!first) continue;
      for (uint32_t p = *first; p < *first + pages; ++p) {
        ASSERT_FALSE(taken.at(p));
        taken[p] = true;
      }
      held.emplace_back(*first, pages);
    } else {
      size_t i = random.Below(held.size());
      auto [first, pages] = held[i];
      extents.Give(first, pages);
      for (uint32_t p = first; p < first + pages; ++p) taken[p] = false;
      held.erase(held.begin() + static_cast<ptrdiff_t>(i));
    }
    uint64_t free = 0;
    uint32_t longest = 0;
    uint32_t run = 0;
    for (bool t : taken) {
      run = t ? 0 : run + 1;
      longest = std::max(longest, run);
      free += !t;
    }
    ASSERT_EQ(extents.free_pages(), free);
    ASSERT_EQ(extents.largest(), longest) << "neighbours were not merged";
  }
}

}  // namespace
}  // namespace dunlin
