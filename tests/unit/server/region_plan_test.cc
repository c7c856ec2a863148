#include "server/region_plan.h"

#include <gtest/gtest.h>

#include "common/layout/directory.h"
#include "common/layout/geometry.h"
#include "common/layout/record.h"

namespace dunlin {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

ServerOptions Options(uint64_t memory, int64_t records = 0) {
  ServerOptions options;
  options.memory = memory;
  options.records = records;
  return options;
}

TEST(RegionPlan, EveryPlanIsUsable) {
  for (uint64_t memory : {4 * kMiB, 5 * kMiB + 1, 64 * kMiB, 1024 * kMiB, 100'000 * kMiB}) {
    for (int64_t records : {int64_t{0}, int64_t{1}, int64_t{10'000}}) {
      for (uint64_t page : {uint64_t{4096}, 2 * kMiB}) {
        auto plan =
            PlanRegion(Options(memory, records),
                       {.incarnation = 1, .page_bytes = page, .max_value_is_default = true});
        ASSERT_TRUE(plan.ok()) << memory << " " << records << " " << plan.status();
        EXPECT_EQ(WhyNotUsable(*plan, plan->region_bytes), "") << memory << " " << records;
        EXPECT_EQ(plan->region_bytes % page, 0u);
        EXPECT_GE(plan->region_bytes, memory);
        EXPECT_EQ(SubtableCount(*plan), uint64_t{1} << DirectoryRoot(plan->directory_root).depth());
        EXPECT_GE(plan->directory_bytes, SubtableCount(*plan) * 8);
        EXPECT_GE(IndexCapacity(*plan), static_cast<uint64_t>(records));
        EXPECT_LE(plan->max_value_bytes + kMaxKeyBytes, plan->heap_bytes);
      }
    }
  }
}

TEST(RegionPlan, TheIndexHoldsTheRecordsAtFourFifths) {
  auto plan = PlanRegion(Options(2048 * kMiB, 10'000'000), {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(IndexCapacity(*plan), 10'000'000u);
  EXPECT_LT(IndexCapacity(*plan), 20'000'000u);
  EXPECT_EQ(plan->buckets_per_subtable, 1024u);
}

TEST(RegionPlan, TooLittleMemorySaysWhatItNeeds) {
  auto plan = PlanRegion(Options(64 * kMiB, 10'000'000), {});
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message().find("10,000,000 records"), absl::string_view::npos)
      << plan.status();
  EXPECT_NE(plan.status().message().find("raise memory"), absl::string_view::npos);
  ServerOptions options = Options(4 * kMiB, 1);
  options.max_sessions = 100'000;
  EXPECT_FALSE(PlanRegion(options, {.max_value_is_default = true}).ok());
}

TEST(RegionPlan, AValueLimitThatWasAskedForIsNotLoweredSilently) {
  ServerOptions options = Options(16 * kMiB);
  auto plan = PlanRegion(options, {.max_value_is_default = false});
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message().find("max-value-size"), absl::string_view::npos);
  EXPECT_TRUE(PlanRegion(options, {.max_value_is_default = true}).ok());
}

}  // namespace
}  // namespace dunlin
