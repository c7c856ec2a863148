#include "common/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace dunlin {
namespace {

TEST(SplitMix64, GivesThePublishedSequence) {
  uint64_t state = 1234567;
  EXPECT_EQ(SplitMix64(state), 6457827717110365317u);
  EXPECT_EQ(SplitMix64(state), 3203168211198807973u);
  EXPECT_EQ(SplitMix64(state), 9817491932198370423u);
  EXPECT_EQ(SplitMix64(state), 4593380528125082431u);
  EXPECT_EQ(SplitMix64(state), 16408922859458223821u);
}

// An independent transcription of the reference algorithm, over a plain array.
uint64_t ReferenceNext(std::array<uint64_t, 4>& s) {
  const auto rotl = [](uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
  const uint64_t result = rotl(s[1] * 5, 7) * 9;
  const uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotl(s[3], 45);
  return result;
}

TEST(Random, MatchesTheReference) {
  uint64_t seed = 42;
  std::array<uint64_t, 4> state{};
  for (uint64_t& word : state) word = SplitMix64(seed);
  Random random(42);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(random.Next(), ReferenceNext(state)) << i;
}

TEST(Random, IsUsableAtCompileTime) {
  constexpr uint64_t kFirst = Random(7).Next();
  Random random(7);
  EXPECT_EQ(random.Next(), kFirst);
}

TEST(Random, BelowIsInRangeAndUniform) {
  Random random(9);
  constexpr uint64_t kBound = 7;
  constexpr int kDraws = 70'000;
  std::array<int, kBound> seen{};
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t value = random.Below(kBound);
    ASSERT_LT(value, kBound);
    ++seen[value];
  }
  // Five standard deviations of a binomial with 10,000 expected.
  for (const int count : seen) EXPECT_NEAR(count, kDraws / kBound, 5 * std::sqrt(10'000.0));
  EXPECT_EQ(random.Below(1), 0u);
}

// With a bound of 3 * 2^62, plain multiplication without rejection would draw every third value
// twice as often.
TEST(Random, BelowHasNoBiasForHugeBounds) {
  Random random(13);
  constexpr uint64_t kBound = uint64_t{3} << 62;
  std::array<int, 3> residues{};
  for (int i = 0; i < 30'000; ++i) ++residues[random.Below(kBound) % 3];
  for (const int count : residues) EXPECT_NEAR(count, 10'000, 5 * std::sqrt(10'000.0));
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(3);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 200; ++i) {
    const uint64_t value = random.Between(10, 12);
    ASSERT_GE(value, 10u);
    ASSERT_LE(value, 12u);
    low |= value == 10;
    high |= value == 12;
  }
  EXPECT_TRUE(low && high);
}

TEST(Random, UnitIsHalfOpen) {
  Random random(21);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.Unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
}  // namespace dunlin
