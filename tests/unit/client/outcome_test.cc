#include "dunlin/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dunlin/dunlin.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

TEST(OutcomeTest, EachHasItsOwnNameInBothInterfaces) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Outcome::kInternal); ++i) {
    const std::string name(OutcomeName(static_cast<Outcome>(i)));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name, dunlin_outcome_name(i));
  }
  EXPECT_EQ(OutcomeName(Outcome::kMemoryFull), "memory full");
}

TEST(OutcomeTest, AnUnknownNumberHasAName) {
  EXPECT_EQ(OutcomeName(static_cast<Outcome>(200)), "no outcome");
  EXPECT_STREQ(dunlin_outcome_name(19), "no outcome");
  EXPECT_STREQ(dunlin_outcome_name(256), "no outcome");
  EXPECT_STREQ(dunlin_outcome_name(-1), "no outcome");
}

TEST(OutcomeTest, StatusHasTheCodeThatFits) {
  using Code = absl::StatusCode;
  EXPECT_TRUE(ToStatus(Outcome::kOk, "ignored").ok());
  EXPECT_EQ(ToStatus(Outcome::kNotFound).code(), Code::kNotFound);
  EXPECT_EQ(ToStatus(Outcome::kExists).code(), Code::kAlreadyExists);
  EXPECT_EQ(ToStatus(Outcome::kVersionMismatch).code(), Code::kFailedPrecondition);
  EXPECT_EQ(ToStatus(Outcome::kNotInteger).code(), Code::kInvalidArgument);
  EXPECT_EQ(ToStatus(Outcome::kOverflow).code(), Code::kOutOfRange);
  EXPECT_EQ(ToStatus(Outcome::kTooLarge).code(), Code::kInvalidArgument);
  EXPECT_EQ(ToStatus(Outcome::kBufferTooSmall).code(), Code::kOutOfRange);
  EXPECT_EQ(ToStatus(Outcome::kMemoryFull).code(), Code::kResourceExhausted);
  EXPECT_EQ(ToStatus(Outcome::kIndexFull).code(), Code::kResourceExhausted);
  EXPECT_EQ(ToStatus(Outcome::kContended).code(), Code::kAborted);
  EXPECT_EQ(ToStatus(Outcome::kDeadlineExceeded).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(ToStatus(Outcome::kUnavailable).code(), Code::kUnavailable);
  EXPECT_EQ(ToStatus(Outcome::kUnknown).code(), Code::kUnknown);
  EXPECT_EQ(ToStatus(Outcome::kDataLoss).code(), Code::kDataLoss);
  EXPECT_EQ(ToStatus(Outcome::kInvalidArgument).code(), Code::kInvalidArgument);
  EXPECT_EQ(ToStatus(Outcome::kPermissionDenied).code(), Code::kPermissionDenied);
  EXPECT_EQ(ToStatus(Outcome::kForked).code(), Code::kFailedPrecondition);
  EXPECT_EQ(ToStatus(Outcome::kInternal).code(), Code::kInternal);
}

TEST(OutcomeTest, StatusTellsEffectRemedyAndDetail) {
  EXPECT_THAT(ToStatus(Outcome::kForked).ToString(), HasSubstr("connect anew in the child"));
  EXPECT_THAT(ToStatus(Outcome::kTooLarge, "value of 9 bytes").ToString(),
              HasSubstr("too large: value of 9 bytes"));
}

}  // namespace
}  // namespace dunlin
