#include "common/fabric/verbs/verbs_error.h"

#include <string>

#include "common/base/status.h"

namespace dunlin {
namespace {

struct Meaning {
  absl::StatusCode code;
  const char* remedy;
};

Meaning MeaningOf(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return {absl::StatusCode::kUnavailable,
              "the peer's adapter did not acknowledge: its host or the path to it is down, or "
              "packets are being lost (check the link, and flow control on RoCE)"};
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return {absl::StatusCode::kUnavailable,
              "the peer has no receive buffer posted: it does not keep to the credits it gave"};
    case IBV_WC_REM_ACCESS_ERR:
      return {absl::StatusCode::kPermissionDenied,
              "the peer's adapter refused the memory key: the session may only read, or the server "
              "has started anew; open a new session"};
    case IBV_WC_REM_INV_REQ_ERR:
      return {absl::StatusCode::kFailedPrecondition,
              "the peer's adapter does not take such a request: the device lacks the operation, or "
              "a message was longer than its receive buffer"};
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_REM_ABORT_ERR:
      return {absl::StatusCode::kUnavailable, "the peer's adapter failed to carry it out"};
    case IBV_WC_WR_FLUSH_ERR:
      return {absl::StatusCode::kUnavailable,
              "the connection was closed by the peer or by an earlier error; a new session reaches "
              "the server once it runs again"};
    case IBV_WC_LOC_QP_OP_ERR:
      return {absl::StatusCode::kUnavailable,
              "this side's adapter could not send it: its port is down or has lost its route"};
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_LEN_ERR:
      return {absl::StatusCode::kInternal, "this side's request was not valid for the adapter"};
    case IBV_WC_FATAL_ERR:
      return {absl::StatusCode::kUnavailable, "the adapter has failed; the kernel's log says more"};
    default:
      return {absl::StatusCode::kUnavailable, "the connection is lost"};
  }
}

}  // namespace

absl::Status StatusOfCompletion(const ibv_wc& wc, std::string_view operation,
                                std::string_view peer) {
  const Meaning meaning = MeaningOf(wc.status);
  std::string text(operation);
  text += " (";
  text += peer;
  text += "): ";
  text += ibv_wc_status_str(wc.status);
  text +=
      " (status " + std::to_string(wc.status) + ", vendor " + std::to_string(wc.vendor_err) + "): ";
  text += meaning.remedy;
  return MakeStatus(meaning.code, text);
}

}  // namespace dunlin
