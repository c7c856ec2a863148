#include <gtest/gtest.h>

#include <vector>

#include "tests/support/linearizability/checker.h"
#include "tests/unit/linearizability/operations.h"

// Histories that no correct store gives, one for each way to be wrong.

namespace dunlin::linearizability {
namespace {

void ExpectBad(const std::vector<Operation>& history, const Options& options = {}) {
  const Report report = Check(history, options);
  EXPECT_EQ(report.verdict, Verdict::kViolation);
  EXPECT_NE(report.explanation, "");
}

TEST(AnomaliesTest, StaleRead) {
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Put(2)), At(4, 5, Get(1))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Put(2)), At(4, 5, Head(1))});
}

TEST(AnomaliesTest, LostUpdate) {
  ExpectBad({At(0, 1, Put(1)), At(2, 3, NoRecord())});
  ExpectBad({At(0, 1, PutInteger(0, 1)), At(2, 9, Add(1, 1, 2)), At(2, 9, Add(1, 1, 3))});
  ExpectBad({At(0, 1, PutInteger(0, 1)), At(2, 3, Add(1, 1, 2)), At(4, 5, GetInteger(2, 0))});
  ExpectBad({At(0, 1, Put(1)), At(2, 9, CompareAndSet(1, 2)), At(2, 9, CompareAndSet(1, 3))});
}

TEST(AnomaliesTest, DuplicateApplicationOfAnAddition) {
  ExpectBad({At(0, 1, PutInteger(0, 1)), At(2, 3, Add(1, 1, 2)), At(4, 5, GetInteger(3, 2))});
  // One of unknown outcome counts once at most.
  ExpectBad({At(0, 1, PutInteger(0, 1)), Unknown(2, Add(1, 0, 0)), At(4, 5, GetInteger(3, 2))});
}

TEST(AnomaliesTest, ReadOfWhatWasNeverWritten) {
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Get(2))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Get(1, 2))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Head(2))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Fails(CompareAndSet(7, 8), Answer::kVersionMismatch, 2))});
}

TEST(AnomaliesTest, ReadFromTheFuture) {
  ExpectBad({At(0, 1, Get(1)), At(2, 3, Put(1))});
  ExpectBad({At(0, 1, Get(5, 77)), Unknown(2, Put(77))});
}

TEST(AnomaliesTest, ReadOfAWriteThatFailed) {
  ExpectBad({At(0, 1, Fails(Put(1), Answer::kNoEffect)), At(2, 3, Get(5, 1))});
  ExpectBad(
      {At(0, 1, Put(1)), At(2, 3, Fails(PutIfAbsent(2), Answer::kExists)), At(4, 5, Get(7, 2))});
}

TEST(AnomaliesTest, ResurrectionAfterARemove) {
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Remove()), At(4, 5, Get(1))});
  ExpectBad(
      {At(0, 1, Put(1)), At(2, 3, Remove()), At(4, 5, Fails(PutIfAbsent(2), Answer::kExists))});
}

TEST(AnomaliesTest, RemovedTwice) {
  ExpectBad({At(0, 1, Put(1)), At(2, 9, Remove()), At(2, 9, Remove())});
}

TEST(AnomaliesTest, PutIfAbsentSucceedsTwice) {
  ExpectBad({At(0, 9, PutIfAbsent(1)), At(0, 9, PutIfAbsent(2))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, PutIfAbsent(2))});
}

TEST(AnomaliesTest, ConditionsThatDidNotHold) {
  ExpectBad({At(0, 1, Replace(1))});
  ExpectBad({At(0, 1, Touch(1))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Fails(Replace(2), Answer::kNotFound))});
  ExpectBad({At(0, 1, Fails(PutIfAbsent(1), Answer::kExists))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Fails(Remove(), Answer::kNotFound))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Add(1, 1, 2))});
  ExpectBad({At(0, 1, PutInteger(1, 1)), At(2, 3, Fails(Add(1, 0, 0), Answer::kNotInteger))});
  ExpectBad({At(0, 1, PutInteger(1, 1)), At(2, 3, Fails(Add(1, 0, 0), Answer::kOverflow))});
}

TEST(AnomaliesTest, CompareAndSetOnAStaleVersion) {
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Put(2)), At(4, 5, CompareAndSet(1, 3))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Fails(CompareAndSet(1, 2), Answer::kVersionMismatch, 1))});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Put(2)),
             At(4, 5, Fails(CompareAndSet(7, 8), Answer::kVersionMismatch, 1))});
}

TEST(AnomaliesTest, ReadsThatGoBack) {
  ExpectBad({At(0, 1, Put(1)), At(2, 90, Put(2)), At(3, 4, Get(2)), At(5, 6, Get(1))});
  ExpectBad({At(0, 1, Put(1)), Unknown(2, Put(2)), At(3, 4, Get(2)), At(5, 6, Get(1))});
  ExpectBad({At(0, 90, Put(1)), At(0, 90, Put(2)), At(10, 11, Get(1)), At(12, 13, Get(2)),
             At(14, 15, Get(1))});
}

TEST(AnomaliesTest, TwoReadersDisagreeAboutTheOrder) {
  ExpectBad({At(0, 90, Put(1)), At(0, 90, Put(2)), At(10, 11, Get(1)), At(12, 13, Get(2)),
             At(10, 11, Get(2)), At(12, 13, Get(1))});
}

TEST(AnomaliesTest, AVersionUsedTwice) {
  ExpectBad({At(0, 1, Put(1)), At(2, 3, Fails(Put(1), Answer::kOk, 1))});
  // By two writes that nobody had an answer of.
  ExpectBad({Unknown(0, Put(1)), Unknown(0, Put(2)), At(1, 2, Get(5, 1)), At(3, 4, Get(5, 2))});
}

TEST(AnomaliesTest, AnUnknownWriteThatTookEffectTwice) {
  ExpectBad({Unknown(0, Put(77)), At(1, 2, Get(5, 77)), At(3, 4, Put(1)), At(5, 6, Get(5, 77))});
  ExpectBad({Unknown(0, Put(77)), At(1, 2, Get(5, 77)), At(3, 4, Put(1)), At(5, 6, Get(6, 77))});
  ExpectBad({At(0, 1, Put(1)), Unknown(2, Remove()), At(3, 4, NoRecord()), At(5, 6, Put(2)),
             At(7, 8, NoRecord())});
}

TEST(AnomaliesTest, ExpiredTooSoonOrFoundTooLate) {
  ExpectBad({At(0, 1, PutFor(10, 1)), At(8, 9, NoRecord())});
  ExpectBad({At(0, 1, PutFor(10, 1)), At(12, 13, Get(1))});
  ExpectBad({At(0, 1, PutFor(10, 1)), At(12, 13, Fails(PutIfAbsent(2), Answer::kExists))});
  ExpectBad({At(0, 1, PutFor(10, 1)), At(6, 7, NoRecord())}, {.expiry_tolerance = 2});
  ExpectBad({At(0, 1, PutFor(10, 1)), At(14, 15, Get(1))}, {.expiry_tolerance = 2});
  ExpectBad({At(0, 1, Put(1)), At(1000, 1001, NoRecord())});
}

TEST(AnomaliesTest, ExpiredAndBack) {
  ExpectBad({At(0, 1, PutFor(10, 1)), At(9, 10, NoRecord()), At(11, 12, Get(1))});
  ExpectBad({At(0, 1, PutFor(10, 1)), At(10, 11, NoRecord()), At(12, 13, Remove())});
}

TEST(AnomaliesTest, ATimeToLiveThatNobodySet) {
  Operation get = Get(1);
  get.ttl_left_seen = true;
  ExpectBad({At(0, 1, PutFor(10, 1)), At(2, 3, get)});
  get.ttl_left = 20;
  ExpectBad({At(0, 1, PutFor(10, 1)), At(2, 3, get)});
  ExpectBad({At(0, 1, Put(1)), At(2, 3, get)});
}

TEST(AnomaliesTest, AnAdditionThatLosesTheTimeToLive) {
  Operation counter = PutInteger(1, 1);
  counter.ttl = 10;
  ExpectBad({At(0, 1, counter), At(2, 3, Add(1, 2, 2)), At(20, 21, GetInteger(2, 2))});
}

TEST(AnomaliesTest, TheMessageNamesWhatIsWrong) {
  const Report report =
      Check(std::vector<Operation>{At(0, 1, Put(1)), At(2, 3, Put(2)), At(4, 5, Get(1))}, {});
  EXPECT_NE(report.explanation.find("get -> ok value #1, version 1"), std::string::npos)
      << report.explanation;
}

}  // namespace
}  // namespace dunlin::linearizability
