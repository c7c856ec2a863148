#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/base/random.h"
#include "tests/support/linearizability/checker.h"
#include "tests/unit/linearizability/brute_force.h"
#include "tests/unit/linearizability/random_history.h"

namespace dunlin::linearizability {
namespace {

std::string TextOf(const std::vector<Operation>& history) {
  std::vector<Operation> sorted = history;
  std::sort(sorted.begin(), sorted.end(),
            [](const Operation& a, const Operation& b) { return a.invoked < b.invoked; });
  std::string text;
  for (const Operation& o : sorted) text += Describe(o) + "\n";
  return text;
}

// Changes something that some client was told.
void Corrupt(std::vector<Operation>* history, Random& random) {
  Operation& o = (*history)[random.Below(history->size())];
  switch (random.Below(5)) {
    case 0:
      if (o.version != 0) o.version = 1 + random.Below(o.version + 1);
      break;
    case 1:
      if (o.kind == Kind::kGet) o.value.number += static_cast<int64_t>(1 + random.Below(2));
      break;
    case 2:
      if (o.kind == Kind::kAdd) o.sum += 1;
      break;
    case 3:
      if (o.kind != Kind::kPut && o.kind != Kind::kPutIfAbsent) o.answer = Answer::kNotFound;
      o.version = 0;
      break;
    default:
      o.responded = std::max(o.invoked, o.responded - static_cast<int64_t>(random.Below(20)));
      break;
  }
}

// Every verdict on thousands of small histories, good and bad, is that of the exhaustive search.
TEST(RandomHistoriesTest, AgreesWithBruteForce) {
  Random random(20);
  int good = 0, bad = 0;
  for (int round = 0; round < 200'000; ++round) {
    HistoryPlan plan;
    plan.clients = static_cast<int>(2 + random.Below(3));
    plan.operations = static_cast<int>(2 + random.Below(6));
    plan.deaths = random.OneIn(2) ? 250 : 0;
    plan.unknown = random.OneIn(2) ? 250 : 0;
    plan.longest_ttl = random.OneIn(2) ? 20 : 0;
    plan.values = random.OneIn(3) ? 2 : 0;
    std::vector<Operation> history = RandomHistory(plan, random);
    const int64_t tolerance = static_cast<int64_t>(random.Below(3));
    const bool vanish = random.OneIn(4);
    if (!random.OneIn(3)) Corrupt(&history, random);
    const bool expected = BruteForce(history, tolerance, vanish);
    const Report report =
        Check(history, {.expiry_tolerance = tolerance, .records_may_vanish = vanish});
    ASSERT_EQ(report.verdict, expected ? Verdict::kLinearizable : Verdict::kViolation)
        << "round " << round << "\n"
        << TextOf(history) << report.explanation;
    ++(expected ? good : bad);
  }
  EXPECT_GT(good, 50'000);
  EXPECT_GT(bad, 8000);
}

TEST(RandomHistoriesTest, WhatACorrectStoreDoesIsAccepted) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    HistoryPlan plan;
    plan.clients = static_cast<int>(2 + seed % 7);
    plan.operations = 2000;
    plan.deaths = seed % 2 == 0 ? 20 : 0;
    plan.unknown = seed % 3 == 0 ? 20 : 0;
    plan.long_calls = seed % 5 == 0 ? 10 : 0;
    plan.longest_ttl = seed % 4 == 0 ? 200 : 0;
    plan.counters = seed % 8 < 4;
    const Report report = Check(RandomHistory(plan, random), {});
    ASSERT_EQ(report.verdict, Verdict::kLinearizable)
        << "seed " << seed << ": " << report.explanation;
  }
}

// A get that is told of a version which another answered write had replaced before the get began.
TEST(RandomHistoriesTest, OneStaleAnswerInThousandsIsFound) {
  int tried = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    HistoryPlan plan;
    plan.clients = static_cast<int>(2 + seed % 7);
    plan.operations = 2000;
    plan.deaths = seed % 2 == 0 ? 20 : 0;
    plan.longest_ttl = seed % 4 == 0 ? 200 : 0;
    std::vector<Operation> history = RandomHistory(plan, random);
    // Replaced by a compare-and-set, so that no order hides it.
    const auto cas = std::find_if(history.begin(), history.end(), [](const Operation& o) {
      return o.kind == Kind::kCompareAndSet && o.answer == Answer::kOk;
    });
    if (cas == history.end()) continue;
    const auto get = std::find_if(history.begin(), history.end(), [&](const Operation& o) {
      return o.kind == Kind::kGet && o.answer == Answer::kOk && o.invoked > cas->responded;
    });
    if (get == history.end()) continue;
    get->version = cas->expected;
    get->value = {};
    get->ttl_left_seen = false;
    const Report report = Check(history, {});
    ASSERT_EQ(report.verdict, Verdict::kViolation) << "seed " << seed << ": " << report.explanation;
    ++tried;
  }
  EXPECT_GT(tried, 40);
}

// A hot key: linear in the operations.
TEST(RandomHistoriesTest, AHotKeysHistoryIsDecided) {
  Random random(7);
  HistoryPlan plan;
  plan.clients = 8;
  plan.operations = 50'000;
  plan.deaths = 4;
  plan.long_calls = 2;
  const Report report = Check(RandomHistory(plan, random), {});
  EXPECT_EQ(report.verdict, Verdict::kLinearizable) << report.explanation;
  EXPECT_LT(report.configurations, 500'000u);
}

}  // namespace
}  // namespace dunlin::linearizability
