#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/kvbench/generators/draws.h"
#include "bench/kvbench/generators/field_length.h"
#include "bench/kvbench/generators/fnv_hash.h"
#include "bench/kvbench/generators/zipfian.h"
#include "tests/unit/kvbench/core_testing.h"

namespace dunlin::kvbench {
namespace {

constexpr double kSigmas = 4.5;

TEST(FnvHash, IsYcsbs) {
  EXPECT_EQ(FnvHash64(0), 6284781860667377211);
  EXPECT_EQ(FnvHash64(1), 8517097267634966620);
  EXPECT_EQ(FnvHash64(2), 1820151046732198393);
  EXPECT_EQ(FnvHash64(3), 4052466453699787802);
  EXPECT_EQ(FnvHash64(10), 2408371864701034737);
  EXPECT_EQ(FnvHash64(999), 2071219101098386137);
  EXPECT_EQ(FnvHash64(1000), 5952875239596136740);
  EXPECT_EQ(FnvHash64(123456789), 2350796791908741607);
  EXPECT_EQ(FnvHash64(10'000'000'000), 1201321332300452516);
}

TEST(Zipfian, SumsAsYcsbDoes) {
  EXPECT_DOUBLE_EQ(ExtendZeta(0, 0, 1000, 0.99), 7.728953217284729);
  EXPECT_DOUBLE_EQ(ExtendZeta(0, 0, 2, 0.99), 1.5034777750283594);
  EXPECT_EQ(ExtendZeta(ExtendZeta(0, 0, 500, 0.99), 500, 1000, 0.99), ExtendZeta(0, 0, 1000, 0.99));
}

TEST(Zipfian, FindsWhatYcsbFinds) {
  const Zipfian zipfian(1000);
  EXPECT_EQ(zipfian.At(0), 0u);
  EXPECT_EQ(zipfian.At(0.2), 2u);
  EXPECT_EQ(zipfian.At(0.3), 4u);
  EXPECT_EQ(zipfian.At(0.5), 22u);
  EXPECT_EQ(zipfian.At(0.9), 471u);
}

TEST(ScrambledZipfian, FindsWhatYcsbFinds) {
  const ScrambledZipfian scrambled(0, 1000);
  const std::pair<double, uint64_t> kInner[] = {
      {.05, 1},        {.1, 6},          {.25, 296},        {.5, 134552},
      {.75, 42924421}, {.9, 1170869537}, {.999, 9790013524}};
  for (const auto& [u, item] : kInner) EXPECT_EQ(scrambled.inner().At(u), item) << u;
  const std::pair<double, int64_t> kScattered[] = {{.05, 610}, {.1, 942}, {.25, 809}, {.5, 367},
                                                   {.75, 767}, {.9, 991}, {.999, 483}};
  for (const auto& [u, key] : kScattered) EXPECT_EQ(scrambled.At(u), key) << u;
}

// The share of each of the first `count` items, from the generator's formula turned round: item i
// comes out for random numbers between where it begins and where the next one does.
std::vector<double> Shares(uint64_t items, double zeta, uint64_t first_items, uint64_t count) {
  const double theta = Zipfian::kTheta, alpha = 1 / (1 - theta);
  const double zeta2 = ExtendZeta(0, 0, 2, theta);
  const double eta =
      (1 - std::pow(2 / static_cast<double>(first_items), 1 - theta)) / (1 - zeta2 / zeta);
  const double second = (1 + std::pow(0.5, theta)) / zeta;
  const auto begins = [&](uint64_t i) {
    if (i == 0) return 0.0;
    if (i == 1) return 1 / zeta;
    const double x = static_cast<double>(i) / static_cast<double>(items);
    return std::clamp((std::pow(x, 1 / alpha) - 1 + eta) / eta, second, 1.0);
  };
  std::vector<double> shares(count);
  for (uint64_t i = 0; i < count; ++i) shares[i] = begins(i + 1) - begins(i);
  return shares;
}

TEST(Zipfian, HasYcsbsDistribution) {
  constexpr uint64_t kItems = 1000;
  const Zipfian zipfian(kItems);
  Random random(1);
  std::vector<uint64_t> counts(kItems);
  for (int i = 0; i < 2'000'000; ++i) ++counts.at(zipfian.At(random.Unit()));
  EXPECT_LT(ChiSquareSigmas(counts, Shares(kItems, zipfian.zeta(), kItems, kItems)), kSigmas);
}

TEST(Zipfian, GrowsAsYcsbsDoes) {
  Zipfian grown(1000);
  Random random(2);
  for (uint64_t items = 1001; items <= 3000; ++items) grown.NextOf(items, random);
  EXPECT_DOUBLE_EQ(grown.zeta(), ExtendZeta(0, 0, 3000, Zipfian::kTheta));
  std::vector<uint64_t> counts(3000);
  for (int i = 0; i < 2'000'000; ++i) ++counts.at(grown.NextOf(3000, random));
  // With the number of items that it began with in one place, as YCSB has it.
  EXPECT_LT(ChiSquareSigmas(counts, Shares(3000, grown.zeta(), 1000, 3000)), kSigmas);
  // Fewer items: the sum stays.
  for (int i = 0; i < 1000; ++i) EXPECT_LT(grown.NextOf(100, random), 100u);
  EXPECT_DOUBLE_EQ(grown.zeta(), ExtendZeta(0, 0, 3000, Zipfian::kTheta));
}

TEST(ScrambledZipfian, HasYcsbsDistribution) {
  constexpr int64_t kKeys = 1001;
  constexpr uint64_t kItems = 10'000'000'001, kExact = 1'000'000;
  const ScrambledZipfian scrambled(0, kKeys - 1);
  std::vector<double> expected(kKeys);
  double left = 1;
  const std::vector<double> shares = Shares(kItems, scrambled.inner().zeta(), kItems, kExact);
  for (uint64_t i = 0; i < kExact; ++i) {
    const int64_t hash = FnvHash64(static_cast<int64_t>(i));
    expected[static_cast<size_t>(hash % kKeys)] += shares[i];
    left -= shares[i];
  }
  // The many others are spread evenly.
  for (double& share : expected) share += left / kKeys;
  Random random(3);
  std::vector<uint64_t> counts(kKeys);
  for (int i = 0; i < 2'000'000; ++i) {
    ++counts.at(static_cast<size_t>(scrambled.Next(random)));
  }
  EXPECT_LT(ChiSquareSigmas(counts, expected), kSigmas);
}

TEST(ScrambledZipfian, StaysInItsRange) {
  const ScrambledZipfian scrambled(500, 509);
  Random random(4);
  for (int i = 0; i < 10'000; ++i) {
    const int64_t key = scrambled.Next(random);
    EXPECT_GE(key, 500);
    EXPECT_LE(key, 509);
  }
}

TEST(Hotspot, HasItsTwoShares) {
  const Hotspot hotspot(100, 1099, 0.2, 0.8);
  Random random(5);
  std::vector<uint64_t> counts(1000);
  for (int i = 0; i < 1'000'000; ++i) {
    ++counts.at(static_cast<size_t>(hotspot.Next(random) - 100));
  }
  std::vector<double> expected(1000, 0.2 / 800);
  std::fill_n(expected.begin(), 200, 0.8 / 200);
  EXPECT_LT(ChiSquareSigmas(counts, expected), kSigmas);
}

TEST(Hotspot, TakesEmptyParts) {
  Random random(6);
  const Hotspot all_hot(0, 9, 1, 0.5), none_hot(0, 9, 0, 0.5);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LT(all_hot.Next(random), 10);
    EXPECT_LT(none_hot.Next(random), 10);
  }
}

TEST(Exponential, HasItsPercentile) {
  constexpr double kRange = 857;
  const Exponential exponential(95, kRange);
  const double gamma = -std::log(1 - 0.95) / kRange;
  Random random(7);
  std::vector<uint64_t> counts(5000);
  std::vector<double> expected(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    expected[i] =
        std::exp(-gamma * static_cast<double>(i)) - std::exp(-gamma * static_cast<double>(i + 1));
  }
  uint64_t below = 0;
  constexpr int kDraws = 1'000'000;
  for (int i = 0; i < kDraws; ++i) {
    const auto draw = static_cast<size_t>(exponential.Next(random));
    below += draw < kRange ? 1 : 0;
    ++counts.at(std::min(draw, counts.size() - 1));
  }
  EXPECT_LT(ChiSquareSigmas(counts, expected), kSigmas);
  EXPECT_NEAR(static_cast<double>(below) / kDraws, 0.95, 0.001);
}

TEST(WeightedChoice, HasItsWeights) {
  const WeightedChoice<5> choice({0.5, 0, 0.3, 0, 1.2});
  Random random(8);
  std::vector<uint64_t> counts(5);
  for (int i = 0; i < 1'000'000; ++i) ++counts.at(choice.Next(random));
  EXPECT_EQ(counts[1], 0u);
  EXPECT_EQ(counts[3], 0u);
  EXPECT_LT(ChiSquareSigmas({counts[0], counts[2], counts[4]}, {0.25, 0.15, 0.6}), kSigmas);
}

std::vector<uint64_t> CountLengths(FieldLength lengths, size_t most) {
  Random random(9);
  std::vector<uint64_t> counts(most + 1);
  for (int i = 0; i < 1'000'000; ++i) ++counts.at(lengths.Next(random));
  return counts;
}

TEST(FieldLength, ConstantAndUniform) {
  EXPECT_EQ(CountLengths(FieldLength::Constant(7), 7)[7], 1'000'000u);
  const std::vector<uint64_t> counts = CountLengths(FieldLength::Uniform(10, 59), 59);
  std::vector<double> expected(60, 1.0 / 50);
  std::fill_n(expected.begin(), 10, 0.0);
  EXPECT_LT(ChiSquareSigmas(counts, expected), kSigmas);
}

TEST(FieldLength, ZipfianPrefersTheShort) {
  const std::vector<uint64_t> counts = CountLengths(FieldLength::OfZipfian(1, 100), 100);
  std::vector<double> expected = Shares(100, ExtendZeta(0, 0, 100, 0.99), 100, 100);
  expected.insert(expected.begin(), 0);
  EXPECT_LT(ChiSquareSigmas(counts, expected), kSigmas);
}

TEST(FieldLength, HistogramOfAFile) {
  const auto lengths = FieldLength::Histogram("BlockSize\t10\r\n0\t1\n2\t3\n", "hist.txt");
  ASSERT_TRUE(lengths.ok()) << lengths.status();
  EXPECT_EQ(lengths->most(), 30u);
  const std::vector<uint64_t> counts = CountLengths(*lengths, 30);
  EXPECT_EQ(counts[10] + counts[30], 1'000'000u);
  EXPECT_NEAR(static_cast<double>(counts[30]) / 1e6, 0.75, 0.005);
}

TEST(FieldLength, RefusesMalformedHistograms) {
  for (const char* text :
       {"", "10\n", "BlockSize\t0\n0\t1\n", "BlockSize\t10\n", "BlockSize\tx\n",
        "BlockSize\t10\nx\t1\n", "BlockSize\t10\n0\t-1\n", "BlockSize\t10\n0\t0\n",
        "BlockSize\t2000000000\n5\t1\n", "BlockSize\t10\n99999999999\t1\n"}) {
    const auto lengths = FieldLength::Histogram(text, "hist.txt");
    EXPECT_FALSE(lengths.ok()) << text;
    EXPECT_NE(std::string(lengths.status().message()).find("hist.txt"), std::string::npos);
  }
}

}  // namespace
}  // namespace dunlin::kvbench
