#include "common/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/random.h"

namespace dunlin {
namespace {

// Off the stack, which a histogram of 140 KiB would crowd under sanitizers.
std::unique_ptr<Histogram> MakeHistogram() { return std::make_unique<Histogram>(); }

TEST(Histogram, EmptyIsZero) {
  const auto histogram = MakeHistogram();
  EXPECT_EQ(histogram->count(), 0u);
  EXPECT_EQ(histogram->min(), 0u);
  EXPECT_EQ(histogram->max(), 0u);
  EXPECT_EQ(histogram->Mean(), 0);
  EXPECT_EQ(histogram->Percentile(99), 0u);
}

TEST(Histogram, EveryMagnitudeIsKeptWithinATenthOfAPercent) {
  for (int bits = 0; bits < Histogram::kMaxBits; ++bits) {
    for (const uint64_t value :
         {uint64_t{1} << bits, (uint64_t{1} << bits) + (uint64_t{1} << bits) / 3,
          (uint64_t{2} << bits) - 1}) {
      const auto histogram = MakeHistogram();
      histogram->Record(0);
      histogram->Record(value);
      histogram->Record(Histogram::kMax);
      EXPECT_NEAR(static_cast<double>(histogram->Percentile(50)), static_cast<double>(value),
                  static_cast<double>(value) / 1000)
          << value;
    }
  }
}

TEST(Histogram, PercentilesMatchTheSortedValues) {
  const auto histogram = MakeHistogram();
  std::vector<uint64_t> values;
  Random random(11);
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(random.Next() >> random.Between(24, 63));
    histogram->Record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const double rank = std::max(1.0, std::ceil(percent / 100 * 20'000));
    const double exact = static_cast<double>(values[static_cast<size_t>(rank) - 1]);
    EXPECT_NEAR(static_cast<double>(histogram->Percentile(percent)), exact, exact / 1000)
        << percent;
  }
  EXPECT_EQ(histogram->min(), values.front());
  EXPECT_EQ(histogram->max(), values.back());
  EXPECT_EQ(histogram->Percentile(100), values.back());
}

TEST(Histogram, MergeEqualsRecordingEverythingInOne) {
  const auto a = MakeHistogram();
  const auto b = MakeHistogram();
  const auto both = MakeHistogram();
  Random random(5);
  for (int i = 0; i < 5000; ++i) {
    const uint64_t value = random.Below(1'000'000);
    (i % 3 == 0 ? a : b)->Record(value);
    both->Record(value);
  }
  a->Merge(*b);
  EXPECT_EQ(a->count(), both->count());
  EXPECT_EQ(a->min(), both->min());
  EXPECT_EQ(a->max(), both->max());
  EXPECT_DOUBLE_EQ(a->Mean(), both->Mean());
  for (double percent = 0; percent <= 100; percent += 0.5) {
    EXPECT_EQ(a->Percentile(percent), both->Percentile(percent));
  }
}

TEST(Histogram, StepsAscendAndHoldAllValues) {
  const auto histogram = MakeHistogram();
  std::vector<uint64_t> values = {0, 1, 1023, 1024, 1025, 2047, 2048, Histogram::kMax};
  Random random(6);
  for (int i = 0; i < 5000; ++i) values.push_back(random.Next() >> random.Between(22, 63));
  for (const uint64_t value : values) histogram->Record(value);
  std::sort(values.begin(), values.end());
  size_t seen = 0;
  histogram->ForEachStep([&](uint64_t highest, uint64_t count) {
    ASSERT_LE(seen + count, values.size());
    // Exactly those up to `highest` that no step before held.
    EXPECT_LE(values[seen + count - 1], highest);
    EXPECT_GE(static_cast<double>(values[seen]), static_cast<double>(highest) * (1 - 1.0 / 512));
    seen += count;
    if (seen < values.size()) {
      EXPECT_GT(values[seen], highest);
    }
  });
  EXPECT_EQ(seen, values.size());
}

TEST(Histogram, ValuesAboveTheMaximumCountAsIt) {
  const auto histogram = MakeHistogram();
  histogram->Record(~uint64_t{0});
  EXPECT_EQ(histogram->max(), Histogram::kMax);
  histogram->Reset();
  EXPECT_EQ(histogram->count(), 0u);
  EXPECT_EQ(histogram->max(), 0u);
}

}  // namespace
}  // namespace dunlin
