#include "common/fabric/verbs/verbs_error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dunlin {
namespace {

using ::testing::HasSubstr;

struct Case {
  ibv_wc_status status;
  absl::StatusCode code;
  const char* text;
};

const Case kCases[] = {
    {IBV_WC_LOC_LEN_ERR, absl::StatusCode::kInternal, "not valid"},
    {IBV_WC_LOC_QP_OP_ERR, absl::StatusCode::kUnavailable, "port is down"},
    {IBV_WC_LOC_PROT_ERR, absl::StatusCode::kInternal, "not valid"},
    {IBV_WC_WR_FLUSH_ERR, absl::StatusCode::kUnavailable, "was closed"},
    {IBV_WC_BAD_RESP_ERR, absl::StatusCode::kUnavailable, "connection is lost"},
    {IBV_WC_LOC_ACCESS_ERR, absl::StatusCode::kInternal, "not valid"},
    {IBV_WC_REM_INV_REQ_ERR, absl::StatusCode::kFailedPrecondition, "lacks the operation"},
    {IBV_WC_REM_ACCESS_ERR, absl::StatusCode::kPermissionDenied, "open a new session"},
    {IBV_WC_REM_OP_ERR, absl::StatusCode::kUnavailable, "peer's adapter failed"},
    {IBV_WC_RETRY_EXC_ERR, absl::StatusCode::kUnavailable, "check the link"},
    {IBV_WC_RNR_RETRY_EXC_ERR, absl::StatusCode::kUnavailable, "credits"},
    {IBV_WC_REM_ABORT_ERR, absl::StatusCode::kUnavailable, "peer's adapter failed"},
    {IBV_WC_FATAL_ERR, absl::StatusCode::kUnavailable, "kernel's log"},
    {IBV_WC_RESP_TIMEOUT_ERR, absl::StatusCode::kUnavailable, "connection is lost"},
    {IBV_WC_GENERAL_ERR, absl::StatusCode::kUnavailable, "connection is lost"},
};

TEST(VerbsErrorTest, NamesEverything) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(ibv_wc_status_str(one.status));
    ibv_wc completion{};
    completion.status = one.status;
    completion.vendor_err = 129;
    const absl::Status status = StatusOfCompletion(completion, "READ of 8 bytes", "rdma://h:1");
    EXPECT_EQ(status.code(), one.code);
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr("READ of 8 bytes (rdma://h:1)"));
    EXPECT_THAT(message, HasSubstr(ibv_wc_status_str(one.status)));
    EXPECT_THAT(message, HasSubstr("vendor 129"));
    EXPECT_THAT(message, HasSubstr(one.text));
  }
}

}  // namespace
}  // namespace dunlin
