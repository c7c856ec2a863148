#include "common/base/check.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin {
namespace {

enum class Color : uint8_t { kRed = 3, kBlue = 4 };

TEST(Check, PassesSilentlyAndEvaluatesOnce) {
  int evaluations = 0;
  DUNLIN_CHECK(++evaluations == 1);
  DUNLIN_CHECK_EQ(++evaluations, 2);
  DUNLIN_CHECK_LE(1u, uint64_t{1});
  DUNLIN_CHECK_NE(Color::kRed, Color::kBlue);
  DUNLIN_CHECK_OK(absl::OkStatus());
  DUNLIN_CHECK_OK(absl::StatusOr<int>(1));
  EXPECT_EQ(evaluations, 2);
}

TEST(CheckDeathTest, NamesPlaceConditionAndMessage) {
  EXPECT_DEATH(DUNLIN_CHECK(1 == 2), "check_test.cc:[0-9]+: check failed: 1 == 2");
  EXPECT_DEATH(DUNLIN_CHECK(false, "call Start first"), "check failed: false: call Start first");
  EXPECT_DEATH(DUNLIN_UNREACHABLE(), "check failed: unreachable");
}

TEST(CheckDeathTest, ComparisonsShowBothOperands) {
  const int64_t low = -5;
  const uint64_t high = 18446744073709551615u;
  EXPECT_DEATH(DUNLIN_CHECK_GE(low, int64_t{0}), "low >= int64_t\\{0\\} \\(-5 against 0\\)");
  EXPECT_DEATH(DUNLIN_CHECK_LT(high, uint64_t{7}), "18446744073709551615 against 7");
  EXPECT_DEATH(DUNLIN_CHECK_EQ(Color::kRed, Color::kBlue), "3 against 4");
  EXPECT_DEATH(DUNLIN_CHECK_GT(1.5, 2.5), "1.5 against 2.5");
}

TEST(CheckDeathTest, OkShowsTheStatus) {
  EXPECT_DEATH(DUNLIN_CHECK_OK(absl::NotFoundError("no such lane")), "no such lane");
  EXPECT_DEATH(DUNLIN_CHECK_OK(absl::StatusOr<int>(absl::DataLossError("torn"))), "torn");
}

TEST(CheckDeathTest, DcheckLivesInDebugBuildsOnly) {
#ifdef NDEBUG
  DUNLIN_DCHECK(1 == 2);
#else
  EXPECT_DEATH(DUNLIN_DCHECK(1 == 2), "1 == 2");
#endif
}

}  // namespace
}  // namespace dunlin
