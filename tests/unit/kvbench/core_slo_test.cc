#include <gtest/gtest.h>

#include <string>

#include "bench/kvbench/driver/slo_search.h"
#include "common/base/random.h"

namespace dunlin::kvbench {
namespace {

// A store that meets the goal up to a rate, and goes as fast as `capacity`.
class Model {
 public:
  explicit Model(double best, double capacity = 1e6) : best_(best), capacity_(capacity) {}
  // Short steps are lucky: they meet the goal up to so much more.
  double luck = 1;
  int steps = 0;

  absl::StatusOr<SloStep> Step(double rate, bool confirm) {
    ++steps;
    const double limit = confirm ? best_ : best_ * luck;
    return SloStep{.asked_rate = rate,
                   .achieved_rate = rate == 0 ? capacity_ : rate,
                   .operations = 1000,
                   .met = rate != 0 && rate <= limit};
  }

 private:
  double best_, capacity_;
};

SloResult Search(Model& model, double precision) {
  const auto result =
      SearchRate(precision, [&](double rate, bool confirm) { return model.Step(rate, confirm); });
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(SloSearch, ComesAsCloseAsAsked) {
  for (const double best : {999'000.0, 730'000.0, 123'456.0, 5'000.0, 700.0}) {
    Model model(best);
    const SloResult result = Search(model, 0.05);
    ASSERT_TRUE(result.found) << best;
    EXPECT_LE(result.confirmed.asked_rate, best);
    EXPECT_GE(result.confirmed.asked_rate, best * 0.95);
    EXPECT_GT(result.lowest_missed, best);
    EXPECT_EQ(static_cast<int>(result.steps), model.steps);
    EXPECT_LE(model.steps, 20);
  }
}

TEST(SloSearch, GoesDownWhenTheLongStepMisses) {
  Model model(500'000);
  model.luck = 1.15;
  const SloResult result = Search(model, 0.05);
  ASSERT_TRUE(result.found);
  EXPECT_LE(result.confirmed.asked_rate, 500'000);
  EXPECT_GE(result.confirmed.asked_rate, 440'000);
}

TEST(SloSearch, SaysIfThereIsNone) {
  Model never(0);
  EXPECT_FALSE(Search(never, 0.05).found);
  EXPECT_LE(never.steps, 20);
  Model lucky(1);
  lucky.luck = 500'000;
  EXPECT_FALSE(Search(lucky, 0.05).found);
}

TEST(SloSearch, AnErrorEndsIt) {
  int steps = 0;
  const auto result = SearchRate(0.05, [&](double, bool) -> absl::StatusOr<SloStep> {
    if (++steps == 3) return absl::CancelledError("interrupted");
    return SloStep{.achieved_rate = 1000};
  });
  EXPECT_TRUE(absl::IsCancelled(result.status()));
  EXPECT_EQ(steps, 3);
}

TEST(UpperShare, IsWilsons) {
  EXPECT_NEAR(UpperShare(0, 100), 0.0370, 0.0005);
  EXPECT_NEAR(UpperShare(50, 100), 0.5960, 0.0010);
  EXPECT_NEAR(UpperShare(10, 1000), 0.0183, 0.0003);
  EXPECT_EQ(UpperShare(0, 0), 1);
  EXPECT_LE(UpperShare(100, 100), 1);
}

}  // namespace
}  // namespace dunlin::kvbench
