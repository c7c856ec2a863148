#include "dunlin/outcome.h"

#include <string>

#include "common/base/status.h"

namespace dunlin {
namespace {

struct Meaning {
  std::string_view name;
  absl::StatusCode code;
};

Meaning MeaningOf(Outcome outcome) {
  using Code = absl::StatusCode;
  switch (outcome) {
    case Outcome::kOk:
      return {"ok", Code::kOk};
    case Outcome::kNotFound:
      return {"not found", Code::kNotFound};
    case Outcome::kExists:
      return {"exists", Code::kAlreadyExists};
    case Outcome::kVersionMismatch:
      return {"version mismatch", Code::kFailedPrecondition};
    case Outcome::kNotInteger:
      return {"not an integer", Code::kInvalidArgument};
    case Outcome::kOverflow:
      return {"overflow", Code::kOutOfRange};
    case Outcome::kTooLarge:
      return {"too large", Code::kInvalidArgument};
    case Outcome::kBufferTooSmall:
      return {"buffer too small", Code::kOutOfRange};
    case Outcome::kMemoryFull:
      return {"memory full", Code::kResourceExhausted};
    case Outcome::kIndexFull:
      return {"index full", Code::kResourceExhausted};
    case Outcome::kContended:
      return {"contended", Code::kAborted};
    case Outcome::kDeadlineExceeded:
      return {"deadline exceeded", Code::kDeadlineExceeded};
    case Outcome::kUnavailable:
      return {"unavailable", Code::kUnavailable};
    case Outcome::kUnknown:
      return {"unknown", Code::kUnknown};
    case Outcome::kDataLoss:
      return {"data loss", Code::kDataLoss};
    case Outcome::kInvalidArgument:
      return {"invalid argument", Code::kInvalidArgument};
    case Outcome::kPermissionDenied:
      return {"permission denied", Code::kPermissionDenied};
    case Outcome::kForked:
      return {"forked", Code::kFailedPrecondition};
    case Outcome::kInternal:
      return {"internal", Code::kInternal};
  }
  return {"no outcome", Code::kInternal};
}

// What the name alone doesn't tell: the effect, or the remedy.
std::string_view RemedyOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kMemoryFull:
      return "the server has no memory for the record; nothing was changed";
    case Outcome::kIndexFull:
      return "the server has no slot for a new key; nothing was changed";
    case Outcome::kContended:
      return "gave up after many lost races; nothing was changed";
    case Outcome::kDeadlineExceeded:
      return "nothing was changed";
    case Outcome::kUnavailable:
      return "no connection to the server: open a new session";
    case Outcome::kUnknown:
      return "the write may or may not have been executed; read before trying again";
    case Outcome::kDataLoss:
      return "the record is damaged";
    case Outcome::kPermissionDenied:
      return "the session is read-only";
    case Outcome::kForked:
      return "connected before fork(): connect anew in the child";
    case Outcome::kInternal:
      return "an invariant is broken; please report it";
    default:
      return {};
  }
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) { return MeaningOf(outcome).name; }

absl::Status ToStatus(Outcome outcome, std::string_view detail) {
  if (outcome == Outcome::kOk) return absl::OkStatus();
  const Meaning meaning = MeaningOf(outcome);
  std::string message(meaning.name);
  for (const std::string_view part : {RemedyOf(outcome), detail}) {
    if (!part.empty()) message.append(": ").append(part);
  }
  return MakeStatus(meaning.code, message);
}

}  // namespace dunlin
