#include "client/kvctl/output/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The numbers are a promise to scripts, so they are spelt out here.
TEST(ExitCode, NumbersOfOutcomes) {
  const std::pair<Outcome, int> expected[] = {
      {Outcome::kNotFound, 3},         {Outcome::kExists, 4},
      {Outcome::kVersionMismatch, 4},  {Outcome::kNotInteger, 4},
      {Outcome::kOverflow, 4},         {Outcome::kTooLarge, 7},
      {Outcome::kBufferTooSmall, 1},   {Outcome::kMemoryFull, 7},
      {Outcome::kIndexFull, 7},        {Outcome::kContended, 5},
      {Outcome::kDeadlineExceeded, 6}, {Outcome::kUnavailable, 5},
      {Outcome::kUnknown, 9},          {Outcome::kDataLoss, 8},
      {Outcome::kInvalidArgument, 2},  {Outcome::kPermissionDenied, 5},
      {Outcome::kForked, 1},           {Outcome::kInternal, 1},
  };
  for (const auto& [outcome, number] : expected) {
    EXPECT_EQ(static_cast<int>(FailureOf(outcome, "x").exit), number) << OutcomeName(outcome);
  }
  EXPECT_EQ(static_cast<int>(ExitCode::kSomeFailed), 10);
  EXPECT_EQ(static_cast<int>(ExitCode::kProblemsFound), 11);
}

TEST(ExitCode, NumbersOfStatusCodes) {
  const std::pair<absl::StatusCode, int> expected[] = {
      {absl::StatusCode::kCancelled, 1},         {absl::StatusCode::kUnknown, 9},
      {absl::StatusCode::kInvalidArgument, 2},   {absl::StatusCode::kDeadlineExceeded, 6},
      {absl::StatusCode::kNotFound, 3},          {absl::StatusCode::kPermissionDenied, 5},
      {absl::StatusCode::kResourceExhausted, 7}, {absl::StatusCode::kFailedPrecondition, 5},
      {absl::StatusCode::kAborted, 5},           {absl::StatusCode::kUnimplemented, 1},
      {absl::StatusCode::kInternal, 1},          {absl::StatusCode::kUnavailable, 5},
      {absl::StatusCode::kDataLoss, 8},          {absl::StatusCode::kUnauthenticated, 5},
  };
  for (const auto& [code, number] : expected) {
    EXPECT_EQ(static_cast<int>(FailureOf(absl::Status(code, "x")).exit), number)
        << absl::StatusCodeToString(code);
  }
}

TEST(ExitCode, FailuresCarryCodeAndMessage) {
  const Failure of_outcome = FailureOf(Outcome::kVersionMismatch, "cas \"k\"");
  EXPECT_EQ(of_outcome.code, "VERSION_MISMATCH");
  EXPECT_THAT(of_outcome.message, StartsWith("cas \"k\": version mismatch"));
  EXPECT_THAT(FailureOf(Outcome::kMemoryFull, "put").message, HasSubstr("nothing was changed"));
  const Failure of_status = FailureOf(absl::UnavailableError("nobody there"));
  EXPECT_EQ(of_status.code, "UNAVAILABLE");
  EXPECT_EQ(of_status.message, "nobody there");
}

TEST(ExitCode, EveryNumberIsDescribed) {
  const std::string text = DescribeExitCodes();
  for (int number = 0; number <= 11; ++number) {
    EXPECT_THAT(text, ::testing::ContainsRegex("\n +" + std::to_string(number) + "  [a-z]"));
  }
}

}  // namespace
}  // namespace dunlin::kvctl
