#include "client/kvctl/output/exit_code.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr std::pair<ExitCode, const char*> kDescriptions[] = {
    {ExitCode::kOk, "done"},
    {ExitCode::kOther, "internal error, or reading or writing a file failed"},
    {ExitCode::kUsage, "wrong command line or argument"},
    {ExitCode::kNotFound, "no such key or snapshot"},
    {ExitCode::kPreconditionFailed,
     "precondition failed: another version, already there, not an integer, overflow; the newest "
     "snapshot, or a directory in use"},
    {ExitCode::kUnavailable, "no server there, no permission, another layout, or too busy"},
    {ExitCode::kDeadlineExceeded, "deadline exceeded (--timeout)"},
    {ExitCode::kResourceExhausted,
     "memory, index or the snapshots' disk full, key or value too large"},
    {ExitCode::kDataLoss, "data loss: a record or a snapshot is damaged"},
    {ExitCode::kOutcomeUnknown, "outcome unknown: the write may or may not have taken place"},
    {ExitCode::kSomeFailed, "import, export or restore finished, but some records failed"},
    {ExitCode::kProblemsFound, "doctor found a problem (warnings are none)"},
};

ExitCode ExitCodeFor(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return ExitCode::kOk;
    case Outcome::kNotFound:
      return ExitCode::kNotFound;
    case Outcome::kExists:
    case Outcome::kVersionMismatch:
    case Outcome::kNotInteger:
    case Outcome::kOverflow:
      return ExitCode::kPreconditionFailed;
    case Outcome::kTooLarge:
    case Outcome::kMemoryFull:
    case Outcome::kIndexFull:
      return ExitCode::kResourceExhausted;
    case Outcome::kContended:
    case Outcome::kUnavailable:
    case Outcome::kPermissionDenied:
      return ExitCode::kUnavailable;
    case Outcome::kDeadlineExceeded:
      return ExitCode::kDeadlineExceeded;
    case Outcome::kUnknown:
      return ExitCode::kOutcomeUnknown;
    case Outcome::kDataLoss:
      return ExitCode::kDataLoss;
    case Outcome::kInvalidArgument:
      return ExitCode::kUsage;
    case Outcome::kBufferTooSmall:
    case Outcome::kForked:
    case Outcome::kInternal:
      return ExitCode::kOther;
  }
  return ExitCode::kOther;
}

// Of set-up and administration; operations on keys have outcomes.
ExitCode ExitCodeFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case absl::StatusCode::kNotFound:
      return ExitCode::kNotFound;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ExitCode::kUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kDeadlineExceeded;
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kResourceExhausted;
    case absl::StatusCode::kDataLoss:
      return ExitCode::kDataLoss;
    case absl::StatusCode::kUnknown:
      return ExitCode::kOutcomeUnknown;
    default:
      return ExitCode::kOther;
  }
}

std::string UpperSnake(std::string_view words) {
  std::string name(words);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') {
      c = static_cast<char>(c - 'a' + 'A');
    } else if (c < 'A' || c > 'Z') {
      c = '_';
    }
  }
  return name;
}

}  // namespace

Failure FailureOf(Outcome outcome, std::string_view context) {
  DUNLIN_CHECK(outcome != Outcome::kOk);
  return {ExitCodeFor(outcome), UpperSnake(OutcomeName(outcome)),
          absl::StrCat(ToAbsl(context), ": ", ToStatus(outcome).message())};
}

Failure FailureOf(const absl::Status& status) {
  DUNLIN_CHECK(!status.ok());
  return {ExitCodeFor(status.code()), absl::StatusCodeToString(status.code()),
          std::string(FromAbsl(status.message()))};
}

std::string DescribeExitCodes() {
  std::string text = "Exit codes:\n";
  for (const auto& [code, description] : kDescriptions) {
    const int number = static_cast<int>(code);
    absl::StrAppend(&text, number < 10 ? "   " : "  ", number, "  ", description, "\n");
  }
  return text;
}

}  // namespace dunlin::kvctl
