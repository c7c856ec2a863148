#include "common/base/backoff.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace dunlin {
namespace {

TEST(Backoff, StaysUnderADoublingCeilingUntilTheCap) {
  const Backoff::Options options{.first_nanos = 100, .cap_nanos = 1000, .max_attempts = 8};
  const std::vector<int64_t> ceilings = {100, 200, 400, 800, 1000, 1000, 1000, 1000};
  std::vector<int64_t> greatest(ceilings.size(), 0);
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Backoff backoff(options, seed);
    for (size_t i = 0; i < ceilings.size(); ++i) {
      const std::optional<int64_t> delay = backoff.NextNanos();
      ASSERT_TRUE(delay.has_value());
      ASSERT_GE(*delay, 0);
      ASSERT_LE(*delay, ceilings[i]) << "attempt " << i;
      greatest[i] = std::max(greatest[i], *delay);
    }
    ASSERT_EQ(backoff.NextNanos(), std::nullopt);
    ASSERT_EQ(backoff.attempts(), 8);
  }
  // Full jitter uses the whole range: of 500 draws the greatest is near the ceiling.
  for (size_t i = 0; i < ceilings.size(); ++i) EXPECT_GE(greatest[i], ceilings[i] * 9 / 10);
}

TEST(Backoff, DiffersBySeedAndRepeatsForOne) {
  const Backoff::Options options{.first_nanos = 1'000'000, .cap_nanos = 1'000'000};
  Backoff a(options, 1);
  Backoff same(options, 1);
  Backoff other(options, 2);
  const auto first = a.NextNanos();
  EXPECT_EQ(first, same.NextNanos());
  EXPECT_NE(first, other.NextNanos());
}

TEST(Backoff, ResetStartsOver) {
  Backoff backoff({.first_nanos = 1, .cap_nanos = 1'000'000, .max_attempts = 2}, 7);
  EXPECT_TRUE(backoff.NextNanos().has_value());
  EXPECT_TRUE(backoff.NextNanos().has_value());
  EXPECT_FALSE(backoff.NextNanos().has_value());
  backoff.Reset();
  EXPECT_EQ(backoff.attempts(), 0);
  EXPECT_LE(backoff.NextNanos().value(), 1);
}

TEST(Backoff, DoesNotOverflowAtTheGreatestCap) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Backoff backoff({.first_nanos = kMost / 2 + 1, .cap_nanos = kMost, .max_attempts = 4}, 3);
  for (int i = 0; i < 4; ++i) EXPECT_GE(backoff.NextNanos().value(), 0);
}

}  // namespace
}  // namespace dunlin
