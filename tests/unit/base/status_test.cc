#include "common/base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin {
namespace {

absl::StatusOr<std::unique_ptr<int>> MakeInt(bool fail) {
  if (fail) return absl::ResourceExhaustedError("no memory");
  return std::make_unique<int>(7);
}

absl::StatusOr<int> AddTwo(bool fail_first, bool fail_second) {
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<int> first, MakeInt(fail_first));
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<int> second, MakeInt(fail_second));
  return *first + *second;
}

absl::Status Pass(absl::Status status, bool* went_on) {
  DUNLIN_RETURN_IF_ERROR(status);
  DUNLIN_RETURN_IF_ERROR(AddTwo(false, false));
  *went_on = true;
  return absl::OkStatus();
}

TEST(Status, AssignOrReturnMovesTheValueOrReturnsTheError) {
  EXPECT_EQ(AddTwo(false, false).value(), 14);
  EXPECT_EQ(AddTwo(true, false).status(), absl::ResourceExhaustedError("no memory"));
  EXPECT_EQ(AddTwo(false, true).status(), absl::ResourceExhaustedError("no memory"));
}

TEST(Status, ReturnIfErrorStopsAtTheFirstError) {
  bool went_on = false;
  EXPECT_EQ(Pass(absl::AbortedError("stop"), &went_on), absl::AbortedError("stop"));
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(Pass(absl::OkStatus(), &went_on).ok());
  EXPECT_TRUE(went_on);
}

TEST(Status, WithContextPrefixesErrorsOnly) {
  EXPECT_EQ(WithContext(absl::NotFoundError("no file"), "a.conf"),
            absl::NotFoundError("a.conf: no file"));
  EXPECT_TRUE(WithContext(absl::OkStatus(), "a.conf").ok());
}

}  // namespace
}  // namespace dunlin
