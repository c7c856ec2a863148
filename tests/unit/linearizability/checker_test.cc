#include "tests/support/linearizability/checker.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/linearizability/operations.h"

// Histories that a correct store can give, however odd they look, and what the checker says when it
// can't tell.

namespace dunlin::linearizability {
namespace {

void ExpectGood(const std::vector<Operation>& history, const Options& options = {}) {
  const Report report = Check(history, options);
  EXPECT_EQ(report.verdict, Verdict::kLinearizable) << report.explanation;
  EXPECT_EQ(report.explanation, "");
}

TEST(CheckerTest, NothingHappened) { ExpectGood({}); }

TEST(CheckerTest, OneClientsLife) {
  ExpectGood({
      At(0, 1, NoRecord()),
      At(2, 3, Fails(Replace(9), Answer::kNotFound)),
      At(4, 5, PutIfAbsent(1)),
      At(6, 7, Fails(PutIfAbsent(9), Answer::kExists)),
      At(8, 9, Get(1)),
      At(10, 11, CompareAndSet(1, 2)),
      At(12, 13, Fails(CompareAndSet(1, 9), Answer::kVersionMismatch, 2)),
      At(14, 15, Replace(3)),
      At(16, 17, Touch(4)),
      At(18, 19, Get(4, 3)),
      At(20, 21, Fails(Add(1, 0, 0), Answer::kNotInteger)),
      At(22, 23, PutInteger(40, 5)),
      At(24, 25, Add(2, 42, 6)),
      At(26, 27, GetInteger(6, 42)),
      At(28, 29, Fails(Add(kNever, 0, 0), Answer::kOverflow)),
      At(30, 31, Remove()),
      At(32, 33, Fails(Remove(), Answer::kNotFound)),
      At(34, 35, Fails(Touch(0), Answer::kNotFound)),
      At(36, 37, Fails(CompareAndSet(6, 9), Answer::kNotFound)),
      At(38, 39, Fails(Add(1, 0, 0), Answer::kNotFound)),
  });
}

TEST(CheckerTest, AnAbsorbedPutIsNeverSeen) {
  ExpectGood({At(0, 10, Put(1)), At(0, 10, Put(2)), At(11, 12, Get(2))});
  ExpectGood({At(0, 10, Put(1)), At(0, 10, Put(2)), At(11, 12, Get(1))});
}

TEST(CheckerTest, WhatOverlapsMayHaveHappenedInAnyOrder) {
  ExpectGood({At(0, 10, Put(1)), At(2, 3, NoRecord()), At(4, 5, Get(1))});
  // Seen before its own answer came.
  ExpectGood({At(0, 100, Put(1)), At(1, 2, Get(1)), At(3, 4, Put(2)), At(5, 200, Get(2))});
  ExpectGood({At(0, 1, Put(1)), At(2, 9, Remove()), At(2, 9, PutIfAbsent(2)), At(10, 11, Get(2))});
}

TEST(CheckerTest, AnUnknownWriteMayTakeEffectLateOrNever) {
  const Operation lost = Unknown(2, Put(77));
  ExpectGood({At(0, 1, Put(1)), lost, At(3, 4, Get(1))});
  ExpectGood({At(0, 1, Put(1)), lost, At(3, 4, Get(1)), At(900, 901, Get(5, 77))});
  ExpectGood({At(0, 1, Put(1)), Unknown(2, Remove()), At(3, 4, Get(1)), At(5, 6, NoRecord())});
  // Nothing but the answers of conditional writes tells that it took effect.
  ExpectGood({lost, At(3, 4, Fails(PutIfAbsent(9), Answer::kExists))});
  ExpectGood({lost, At(3, 4, Fails(CompareAndSet(5, 6), Answer::kVersionMismatch, 8)),
              At(5, 6, CompareAndSet(8, 9))});
  ExpectGood({At(0, 1, Put(1)), Unknown(2, Touch(0)), At(3, 4, Get(1)), At(5, 6, Get(2, 1))});
  ExpectGood({At(0, 1, Put(1)), Unknown(2, CompareAndSet(1, 0)),
              At(3, 4, Fails(CompareAndSet(1, 9), Answer::kVersionMismatch, 5))});
}

TEST(CheckerTest, SeveralUnknownAdditionsShowInOneSum) {
  ExpectGood({At(0, 1, PutInteger(0, 1)), Unknown(2, Add(1, 0, 0)), Unknown(2, Add(1, 0, 0)),
              Unknown(2, Add(10, 0, 0)), At(3, 4, Add(100, 111, 7)), At(5, 6, GetInteger(8, 112))});
}

TEST(CheckerTest, ErrorsThatChangedNothingAreLeftOut) {
  ExpectGood({At(0, 1, Put(1)), At(2, 3, Fails(Put(9), Answer::kNoEffect)), At(4, 5, Get(1))});
}

TEST(CheckerTest, RecordsExpireAndStayAway) {
  ExpectGood({At(0, 1, PutFor(10, 1)), At(10, 11, Get(1)), At(12, 13, NoRecord()),
              At(14, 15, PutIfAbsent(2))});
  // Somewhere between 10 and 11 at the earliest.
  ExpectGood({At(0, 1, PutFor(10, 1)), At(9, 10, NoRecord())});
  ExpectGood({At(0, 1, PutFor(10, 1)), At(7, 8, NoRecord())}, {.expiry_tolerance = 2});
  ExpectGood({At(0, 1, PutFor(10, 1)), At(13, 14, Get(1))}, {.expiry_tolerance = 2});
  ExpectGood({At(0, 1, PutFor(10, 1)), At(2, 3, Touch(2)), At(90, 91, Get(2, 1))});
  ExpectGood({At(0, 1, Put(1)), At(2, 3, TouchFor(5, 2)), At(20, 21, NoRecord())});
}

TEST(CheckerTest, WhatIsLeftOfTheTimeToLive) {
  Operation get = Get(1);
  get.ttl_left_seen = true;
  ExpectGood({At(0, 1, Put(1)), At(2, 3, get)});
  get.ttl_left = 8;
  ExpectGood({At(0, 1, PutFor(10, 1)), At(2, 3, get)});
}

TEST(CheckerTest, EvictedRecordsAreGoneForGood) {
  const std::vector<Operation> gone = {At(0, 1, Put(1)), At(2, 3, NoRecord()), At(4, 5, Put(2)),
                                       At(6, 7, PutIfAbsent(3))};
  ExpectGood(gone, {.records_may_vanish = true});
  EXPECT_EQ(Check(gone, {}).verdict, Verdict::kViolation);
  const std::vector<Operation> back = {At(0, 1, Put(1)), At(2, 3, NoRecord()), At(4, 5, Get(1))};
  EXPECT_EQ(Check(back, {.records_may_vanish = true}).verdict, Verdict::kViolation);
}

// The order of a thousand puts that nobody saw can't be known, and need not be.
TEST(CheckerTest, CrowdsOfUnseenPutsAreNoTrouble) {
  std::vector<Operation> history;
  for (uint64_t i = 1; i <= 1000; ++i) history.push_back(At(0, 1000, Put(i)));
  history.push_back(At(1001, 1002, Get(500)));
  const Report report = Check(history, {});
  EXPECT_EQ(report.verdict, Verdict::kLinearizable) << report.explanation;
  EXPECT_LT(report.configurations, 5000u);
}

// Forty operations that overlap, whose answers fit many orders and whose end fits none.
TEST(CheckerTest, SaysWhenItGaveUp) {
  std::vector<Operation> history = {At(0, 1, PutInteger(0, 1))};
  for (uint64_t i = 0; i < 40; ++i) {
    Operation put = PutInteger(static_cast<int64_t>(i), 10 + i);
    history.push_back(At(2, 1000, put));
    history.push_back(At(2, 1000, Head(10 + i)));
  }
  history.push_back(At(1001, 1002, GetInteger(5, 99)));
  const Report report = Check(history, {.max_configurations = 10'000});
  EXPECT_EQ(report.verdict, Verdict::kUndecided);
  EXPECT_NE(report.explanation.find("gave up"), std::string::npos) << report.explanation;
}

}  // namespace
}  // namespace dunlin::linearizability
