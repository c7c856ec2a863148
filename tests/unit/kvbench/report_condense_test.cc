#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kvbench/report/condense.h"
#include "tests/unit/kvbench/report_synthetic.h"

namespace dunlin::kvbench {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(CondenseTest, LeavesAloneWhatFits) {
  const Results run = Synthesize({.target = 1000});
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(Condense(run, PageLimits{}), run));
}

TEST(CondenseTest, JoinsStepsAndLosesNoOperation) {
  const Results run = Synthesize({.steps = 1001});
  const Distribution& before = run.metrics(0).latency();
  const Results condensed = Condense(run, {.steps = 100});
  const Distribution& after = condensed.metrics(0).latency();
  EXPECT_LE(after.steps_size(), 100);
  EXPECT_GE(after.steps_size(), 50);
  uint64_t count_before = 0;
  for (const Step& step : before.steps()) count_before += step.count();
  uint64_t count_after = 0;
  double upto = 0;
  for (const Step& step : after.steps()) {
    EXPECT_GT(step.upto_nanos(), upto);
    upto = step.upto_nanos();
    count_after += step.count();
  }
  EXPECT_EQ(count_after, count_before);
  EXPECT_EQ(upto, before.steps(before.steps_size() - 1).upto_nanos());
}

TEST(CondenseTest, JoinsIntervalsAndSaysSo) {
  Results run = Synthesize({.intervals = 0});
  for (const auto& [end, rate, count, p50, p99] :
       std::vector<std::tuple<double, double, uint64_t, double, double>>{
           {1, 100, 100, 10, 50}, {3, 400, 800, 19, 40}, {4, 700, 700, 30, 60}}) {
    Interval* interval = run.add_intervals();
    interval->set_end_seconds(end);
    interval->set_operations_per_second(rate);
    MetricInterval* metric = interval->add_metrics();
    metric->set_name("READ");
    metric->set_count(count);
    metric->set_p50_nanos(p50);
    metric->set_p99_nanos(p99);
  }
  const Results condensed = Condense(run, {.intervals = 2});
  ASSERT_EQ(condensed.intervals_size(), 2);
  const Interval& joined = condensed.intervals(0);
  EXPECT_EQ(joined.end_seconds(), 3);
  EXPECT_DOUBLE_EQ(joined.operations_per_second(), 300);
  ASSERT_EQ(joined.metrics_size(), 1);
  EXPECT_EQ(joined.metrics(0).count(), 900u);
  EXPECT_DOUBLE_EQ(joined.metrics(0).p50_nanos(), 18);
  EXPECT_EQ(joined.metrics(0).p99_nanos(), 50);
  EXPECT_EQ(condensed.intervals(1).operations_per_second(), 700);
  ASSERT_EQ(condensed.remarks_size(), 1);
  EXPECT_THAT(condensed.remarks(0), HasSubstr("joins 2 intervals"));
}

TEST(CondenseTest, CutsTextBetweenCharacters) {
  Results run = Synthesize({});
  std::string label = "x";  // so that the limit is within a character
  for (int i = 0; i < 1000; ++i) label += "\u00e9";
  run.set_label(label);
  (*run.mutable_properties())["long"] = std::string(100'000, 'v');
  for (int i = 0; i < 5000; ++i) (*run.mutable_properties())["p" + std::to_string(i)] = "1";
  const Results condensed = Condense(run, PageLimits{});
  EXPECT_LE(condensed.label().size(), 1003u);
  EXPECT_THAT(condensed.label(), EndsWith("\u00e9\u2026"));
  EXPECT_LE(condensed.properties().at("long").size(), 1003u);
  EXPECT_LE(condensed.properties_size(), 200);
}

TEST(CondenseTest, ManyRunsGetLessEach) {
  const std::vector<Results> few = SynthesizeMany(3);
  const std::vector<Results> many = SynthesizeMany(1500);
  EXPECT_EQ(LimitsFor(few).steps, 400u);
  EXPECT_LT(LimitsFor(many).steps, 120u);
  EXPECT_LT(LimitsFor(many).intervals, 50u);
}

}  // namespace
}  // namespace dunlin::kvbench
