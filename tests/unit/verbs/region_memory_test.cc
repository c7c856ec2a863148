#include "common/fabric/verbs/region_memory.h"

#include "common/fabric/verbs/key_table.h"
#include "gtest/gtest.h"

namespace dunlin {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHuge = 2u << 20;

TEST(RegionMemoryTest, OneRegistrationIfThatIsAllowed) {
  for (const uint64_t most : {uint64_t{0}, uint64_t{5} << 20, UINT64_MAX}) {
    const auto keys = CutRegion(5u << 20, most, kPage);
    ASSERT_EQ(keys.size(), 1u) << most;
    EXPECT_EQ(keys[0].bytes, 5u << 20);
  }
}

TEST(RegionMemoryTest, CutsAtHugePages) {
  const auto keys = CutRegion(11u << 20, (5u << 20) + 77, kPage);
  ASSERT_EQ(keys.size(), 3u);
  for (const MemoryKey& key : keys) EXPECT_EQ(key.offset % kHuge, 0u);
  EXPECT_EQ(keys[0].bytes, 2 * kHuge);
  EXPECT_EQ(keys[2].bytes, 3u << 20);
  EXPECT_EQ(KeyTable::WhyNotValid(keys, 11u << 20), "");
}

TEST(RegionMemoryTest, CutsAtPagesIfItMust) {
  const auto keys = CutRegion(1u << 20, 10'000, kPage);
  EXPECT_EQ(keys.size(), 128u);
  for (const MemoryKey& key : keys) EXPECT_EQ(key.bytes, 2 * kPage);
  EXPECT_EQ(KeyTable::WhyNotValid(keys, 1u << 20), "");
  EXPECT_EQ(CutRegion(2 * kPage, 1, kPage).size(), 2u) << "no less than a page";
}

}  // namespace
}  // namespace dunlin
