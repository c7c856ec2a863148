#include "common/protocol/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/protocol/store_testing.h"

namespace dunlin::testing {
namespace {

using ::testing::ElementsAre;
using Fate = Resolve::Fate;

class ResolveTest : public ::testing::Test {
 protected:
  // Lost is: the key, the version written, the version expected, and whether it may be absorbed.
  Resolve Run(const Resolve::Lost& lost) {
    Resolve resolve(lost);
    store_.chains.clear();
    store_.Run(resolve);
    return resolve;
  }
  Fate FateOf(const Resolve::Lost& lost) {
    Resolve resolve = Run(lost);
    EXPECT_EQ(resolve.result(), Result::kOk);
    return resolve.fate();
  }

  Store store_;
  Key key_ = Store::MakeKey("key", HashOf(5, 1, 2));
};

TEST_F(ResolveTest, LooksOnceInTwoRoundTrips) {
  Location at = store_.Place(key_, "a value that is not read");
  EXPECT_EQ(FateOf({key_, at.version, 1}), Fate::kDone);
  EXPECT_THAT(store_.chains, ElementsAre("READ b1, READ b2", "READ head"));
}

TEST_F(ResolveTest, TheExpectedVersionIsStillThere) {
  Location at = store_.Place(key_, "value");
  EXPECT_EQ(FateOf({key_, 1, at.version}), Fate::kNotDone);
  EXPECT_EQ(FateOf({key_, 0, at.version}), Fate::kNotDone);
}

TEST_F(ResolveTest, VersionsCountNotSlotWords) {
  Location at = store_.Place(key_, "value");
  store_.SetWord(at.slot_address, at.word.Frozen().raw());
  EXPECT_EQ(FateOf({key_, at.version, 1}), Fate::kDone);
  Location moved = store_.Replace(at, key_, "value");
  store_.SetWord(store_.geometry.RecordAddress(moved.word) + 8, at.version);
  EXPECT_EQ(FateOf({key_, at.version, 1}), Fate::kDone);
}

TEST_F(ResolveTest, AThirdVersionProvesAPutOnlyIfUnconditionalAndSeen) {
  Location at = store_.Place(key_, "value");
  EXPECT_EQ(FateOf({key_, 1, 2, true}), Fate::kDone);
  EXPECT_EQ(FateOf({key_, 1, 0, true}), Fate::kDone);
  EXPECT_EQ(FateOf({key_, 1, 2}), Fate::kUnknown);
  store_.Replace(at, key_, "value", {.unconditional = false});
  EXPECT_EQ(FateOf({key_, 1, 2, true}), Fate::kUnknown);
}

TEST_F(ResolveTest, AbsenceProvesNothing) {
  EXPECT_EQ(FateOf({key_, 1, 0, true}), Fate::kUnknown);
  EXPECT_EQ(FateOf({key_, 1, 2, true}), Fate::kUnknown);
  EXPECT_EQ(FateOf({key_, 0, 2}), Fate::kUnknown);
}

TEST_F(ResolveTest, AThirdVersionSaysNothingOfARemove) {
  store_.Place(key_, "value");
  EXPECT_EQ(FateOf({key_, 0, 2}), Fate::kUnknown);
}

TEST_F(ResolveTest, AFailedSearchLeavesTheFateUnknown) {
  store_.Place(key_, "value");
  store_.before_chain = [&](size_t) { store_.outcome = ChainOutcome::kUnknown; };
  Resolve resolve = Run({key_, 1, 2});
  EXPECT_EQ(resolve.result(), Result::kUnavailable);
  EXPECT_EQ(resolve.fate(), Fate::kUnknown);
}

}  // namespace
}  // namespace dunlin::testing
