#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/kvbench/workload/key_chooser.h"
#include "bench/kvbench/workload/record_codec.h"
#include "bench/kvbench/workload/values.h"
#include "bench/kvbench/workload/workload_config.h"
#include "tests/unit/kvbench/core_testing.h"

namespace dunlin::kvbench {
namespace {

Properties With(std::string_view text) {
  Properties properties;
  properties.Set("workload", "site.ycsb.workloads.CoreWorkload");
  properties.Set("recordcount", "1000");
  EXPECT_TRUE(properties.AddText(text, "test").ok());
  return properties;
}

WorkloadConfig Config(std::string_view text) {
  const absl::StatusOr<WorkloadConfig> config = ReadWorkload(With(text));
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : WorkloadConfig();
}

std::string Refusal(std::string_view text) {
  const absl::StatusOr<WorkloadConfig> config = ReadWorkload(With(text));
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(config.status().message());
}

TEST(WorkloadConfig, HasYcsbsDefaults) {
  const WorkloadConfig config = Config("");
  EXPECT_EQ(config.record_count, 1000);
  EXPECT_EQ(config.insert_count, 1000);
  EXPECT_EQ(config.load_count, 1000);
  EXPECT_EQ(config.operation_count, 0);
  EXPECT_EQ(config.fields.size(), 10u);
  EXPECT_EQ(config.fields[3], "field3");
  EXPECT_EQ(config.field_length.most(), 100u);
  EXPECT_TRUE(config.read_all_fields);
  EXPECT_FALSE(config.write_all_fields);
  EXPECT_TRUE(config.PartialUpdates());
  EXPECT_DOUBLE_EQ(config.proportions[0], 0.95);
  EXPECT_DOUBLE_EQ(config.proportions[1], 0.05);
  EXPECT_FALSE(config.has(Action::kInsert));
  EXPECT_EQ(config.requests, RequestDistribution::kUniform);
  EXPECT_TRUE(config.hashed_keys);
  EXPECT_EQ(config.zero_padding, 1u);
}

TEST(WorkloadConfig, WithoutARecordCountThereIsNoEndOfRecords) {
  const WorkloadConfig config = Config("recordcount=0");
  EXPECT_EQ(config.record_count, 2147483647);
  EXPECT_EQ(config.load_count, 0);
}

TEST(WorkloadConfig, PartsOfTheRecordsAreLoaded) {
  const WorkloadConfig config = Config("insertstart=250\ninsertcount=500");
  EXPECT_EQ(config.insert_start, 250);
  EXPECT_EQ(config.load_count, 500);
  EXPECT_EQ(Config("insertstart=250").insert_count, 750);
}

TEST(WorkloadConfig, TakesBothOfYcsbsClassNames) {
  EXPECT_TRUE(ReadWorkload(With("workload=com.yahoo.ycsb.workloads.CoreWorkload")).ok());
  EXPECT_NE(Refusal("workload=site.ycsb.workloads.TimeSeriesWorkload").find("TimeSeries"),
            std::string::npos);
  EXPECT_NE(Refusal("workload=").find("workload"), std::string::npos);
}

TEST(WorkloadConfig, AnythingButHashedIsOrdered) {
  EXPECT_FALSE(Config("insertorder=ordered").hashed_keys);
  EXPECT_FALSE(Config("insertorder=whatever").hashed_keys);
  EXPECT_TRUE(Config("insertorder=hashed").hashed_keys);
}

TEST(WorkloadConfig, RefusesWhatMakesNoSense) {
  for (const char* text : {"recordcount=-1",
                           "recordcount=many",
                           "operationcount=-5",
                           "insertstart=1001",
                           "insertstart=500\ninsertcount=501",
                           "insertstart=1000",
                           "fieldcount=0",
                           "fieldlength=-1",
                           "fieldlengthdistribution=normal",
                           "dataintegrity=true\nfieldlengthdistribution=uniform",
                           "fieldlengthdistribution=uniform\nminfieldlength=101",
                           "readproportion=-1",
                           "readproportion=0\nupdateproportion=0",
                           "requestdistribution=pareto",
                           "hotspotdatafraction=1.5",
                           "exponential.percentile=100",
                           "zeropadding=-1",
                           "zeropadding=1000000",
                           "readallfields=maybe",
                           "fieldcount=100000\nfieldlength=1000000"}) {
    EXPECT_NE(Refusal(text), "") << text;
  }
}

std::string KeyOf(int64_t number, uint32_t padding) {
  std::string key(64, '?');
  key.resize(static_cast<size_t>(WriteKey(number, padding, key.data()) - key.data()));
  return key;
}

TEST(Keys, AreNamedAsYcsbsAre) {
  EXPECT_EQ(KeyOf(FnvHash64(0), 1), "user6284781860667377211");
  EXPECT_EQ(KeyOf(7, 1), "user7");
  EXPECT_EQ(KeyOf(0, 0), "user0");
  EXPECT_EQ(KeyOf(42, 12), "user000000000042");
  EXPECT_EQ(KeyOf(42, 12).size(), 16u);
  EXPECT_EQ(KeyOf(123456, 4), "user123456");
}

TEST(Values, DeterministicOnesAreYcsbs) {
  std::string value;
  MakeDeterministicValue("user6284781860667377211", "field0", 100, value);
  EXPECT_EQ(value,
            "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:"
            "-1039977118:-10");
  MakeDeterministicValue("user000000000042", "field3", 40, value);
  EXPECT_EQ(value, "user000000000042:field3:-1507272144:9284");
  MakeDeterministicValue("user1", "field0", 3, value);
  EXPECT_EQ(value, "use");
}

TEST(Values, ThePoolHasYcsbsBytes) {
  Random random(1);
  const ValuePool pool(100, random);
  // Each of six places has its own set of bytes, equally likely.
  const unsigned kMasks[] = {31, 63, 95, 31, 63, 95};
  for (size_t place = 0; place < 6; ++place) {
    std::vector<uint64_t> counts(96);
    for (int i = 0; i < 200'000; ++i) ++counts.at(pool.Take(100, random)[place] - ' ');
    std::vector<double> expected(96);
    double all = 0;
    for (unsigned i = 0; i < 96; ++i) all += (i & kMasks[place]) == i ? 1 : 0;
    for (unsigned i = 0; i < 96; ++i) expected[i] = (i & kMasks[place]) == i ? 1 / all : 0;
    // Draws are from a pool of 175,000, whose own counts vary as much again.
    EXPECT_LT(ChiSquareSigmas(counts, expected), 20) << place;
    for (unsigned i = 0; i < 96; ++i) EXPECT_EQ(counts[i] == 0, expected[i] == 0) << place;
  }
}

TEST(Values, ThePoolHoldsTheLongest) {
  Random random(2);
  const ValuePool pool(3'000'000, random);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pool.Take(3'000'000, random).size(), 3'000'000u);
}

TEST(RecordCodec, PacksAsYcsbsRocksDbBinding) {
  std::string record;
  AppendField("field0", "abc", record);
  EXPECT_EQ(record, std::string("\0\0\0\6field0\0\0\0\3abc", 17));
  AppendField("field1", "", record);
  std::string_view rest = record;
  std::optional<Field> field = TakeField(rest);
  ASSERT_TRUE(field);
  EXPECT_EQ(field->name, "field0");
  EXPECT_EQ(field->content, "abc");
  field = TakeField(rest);
  ASSERT_TRUE(field);
  EXPECT_EQ(field->content, "");
  EXPECT_TRUE(rest.empty());
}

TEST(RecordCodec, ReplacesOneField) {
  std::string record, changed, expected;
  for (const char* name : {"a", "b", "c"}) AppendField(name, "old", record);
  ASSERT_TRUE(ReplaceField(record, "b", "brand new", changed));
  AppendField("a", "old", expected);
  AppendField("b", "brand new", expected);
  AppendField("c", "old", expected);
  EXPECT_EQ(changed, expected);
}

TEST(RecordCodec, RefusesEveryTruncation) {
  std::string record;
  for (const char* name : {"field0", "field1"}) AppendField(name, "content", record);
  const size_t boundary = record.size() / 2;
  for (size_t length = 1; length < record.size(); ++length) {
    std::string changed;
    EXPECT_EQ(ReplaceField(record.substr(0, length), "x", "y", changed), length == boundary);
  }
}

std::vector<uint64_t> Draws(const WorkloadConfig& config, int64_t inserted, size_t cells) {
  AcknowledgedCounter counter(inserted);
  std::atomic<int64_t> sequence{0};
  KeyChooser chooser(config, &counter, &sequence);
  Random random(3);
  std::vector<uint64_t> counts(cells);
  for (int i = 0; i < 500'000; ++i) ++counts.at(static_cast<size_t>(chooser.Next(random)));
  return counts;
}

TEST(KeyChooser, Uniform) {
  const std::vector<uint64_t> counts =
      Draws(Config("insertstart=100\ninsertcount=800"), 1000, 1000);
  std::vector<double> expected(1000);
  std::fill_n(expected.begin() + 100, 800, 1.0 / 800);
  EXPECT_LT(ChiSquareSigmas(counts, expected), 4.5);
}

TEST(KeyChooser, SequentialGoesRound) {
  const WorkloadConfig config =
      Config("requestdistribution=sequential\ninsertstart=10\ninsertcount=5");
  AcknowledgedCounter counter(1000);
  std::atomic<int64_t> sequence{0};
  KeyChooser one(config, &counter, &sequence);
  KeyChooser other = one;
  Random random(4);
  EXPECT_EQ(one.Next(random), 10);
  EXPECT_EQ(other.Next(random), 11);
  EXPECT_EQ(one.Next(random), 12);
  EXPECT_EQ(other.Next(random), 13);
  EXPECT_EQ(one.Next(random), 14);
  EXPECT_EQ(one.Next(random), 10);
}

TEST(KeyChooser, ZipfianLeavesRoomForInserts) {
  // 1,000 records and twice the 100 inserts that are expected, and one: what isn't there yet is
  // drawn again.
  const WorkloadConfig config = Config(
      "requestdistribution=zipfian\noperationcount=1000\nreadproportion=0.9\n"
      "updateproportion=0\ninsertproportion=0.1");
  const std::vector<uint64_t> counts = Draws(config, 1000, 1000);
  const ScrambledZipfian scrambled(0, 1200);
  Random random(5);
  std::vector<uint64_t> direct(1000);
  uint64_t all = 0;
  while (all < 5'000'000) {
    const int64_t key = scrambled.Next(random);
    if (key >= 1000) continue;
    ++direct[static_cast<size_t>(key)];
    ++all;
  }
  std::vector<double> expected;
  for (const uint64_t count : direct) {
    expected.push_back(static_cast<double>(count) / static_cast<double>(all));
  }
  EXPECT_LT(ChiSquareSigmas(counts, expected), 7);
}

TEST(KeyChooser, LatestPrefersTheNewest) {
  const std::vector<uint64_t> counts = Draws(Config("requestdistribution=latest"), 1000, 1000);
  EXPECT_GT(counts[999], counts[998]);
  EXPECT_GT(counts[998], counts[900]);
  const double zeta = ExtendZeta(0, 0, 999, Zipfian::kTheta);
  EXPECT_NEAR(static_cast<double>(counts[999]) / 500'000, 1 / zeta, 0.003);
}

TEST(KeyChooser, LatestFollowsTheInserts) {
  const WorkloadConfig config = Config("requestdistribution=latest");
  AcknowledgedCounter counter(1000);
  std::atomic<int64_t> sequence{0};
  KeyChooser chooser(config, &counter, &sequence);
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(counter.Acknowledge(counter.Next()));
  Random random(6);
  int64_t most = 0;
  for (int i = 0; i < 10'000; ++i) most = std::max(most, chooser.Next(random));
  EXPECT_EQ(most, 5999);
}

TEST(KeyChooser, ExponentialPrefersTheNewest) {
  const std::vector<uint64_t> counts = Draws(Config("requestdistribution=exponential"), 1000, 1000);
  uint64_t newest = 0, all = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    if (i >= 1000 - 857) newest += counts[i];
  }
  // 95 % of all draws before those that fall below 0 are drawn again, 3 % of them.
  EXPECT_NEAR(static_cast<double>(newest) / static_cast<double>(all), 0.95 / 0.97, 0.01);
}

TEST(KeyChooser, HotspotHasAHotPart) {
  const std::vector<uint64_t> counts = Draws(Config("requestdistribution=hotspot"), 1000, 1000);
  uint64_t hot = 0;
  for (size_t i = 0; i < 200; ++i) hot += counts[i];
  EXPECT_NEAR(static_cast<double>(hot) / 500'000, 0.8, 0.005);
}

}  // namespace
}  // namespace dunlin::kvbench
