#include "client/c/c_types.h"

namespace dunlin::c {
namespace {

constexpr bool Same(dunlin_outcome c, Outcome cc) {
  return static_cast<int>(c) == static_cast<int>(cc);
}
static_assert(Same(DUNLIN_OK, Outcome::kOk) && Same(DUNLIN_NOT_FOUND, Outcome::kNotFound) &&
              Same(DUNLIN_EXISTS, Outcome::kExists) &&
              Same(DUNLIN_VERSION_MISMATCH, Outcome::kVersionMismatch) &&
              Same(DUNLIN_NOT_INTEGER, Outcome::kNotInteger) &&
              Same(DUNLIN_OVERFLOW, Outcome::kOverflow) &&
              Same(DUNLIN_TOO_LARGE, Outcome::kTooLarge) &&
              Same(DUNLIN_BUFFER_TOO_SMALL, Outcome::kBufferTooSmall) &&
              Same(DUNLIN_MEMORY_FULL, Outcome::kMemoryFull) &&
              Same(DUNLIN_INDEX_FULL, Outcome::kIndexFull) &&
              Same(DUNLIN_CONTENDED, Outcome::kContended) &&
              Same(DUNLIN_DEADLINE_EXCEEDED, Outcome::kDeadlineExceeded) &&
              Same(DUNLIN_UNAVAILABLE, Outcome::kUnavailable) &&
              Same(DUNLIN_UNKNOWN, Outcome::kUnknown) &&
              Same(DUNLIN_DATA_LOSS, Outcome::kDataLoss) &&
              Same(DUNLIN_INVALID_ARGUMENT, Outcome::kInvalidArgument) &&
              Same(DUNLIN_PERMISSION_DENIED, Outcome::kPermissionDenied) &&
              Same(DUNLIN_FORKED, Outcome::kForked) && Same(DUNLIN_INTERNAL, Outcome::kInternal));

constexpr bool Same(dunlin_code c, absl::StatusCode cc) {
  return static_cast<int>(c) == static_cast<int>(cc);
}
using Code = absl::StatusCode;
static_assert(Same(DUNLIN_CODE_OK, Code::kOk) && Same(DUNLIN_CODE_CANCELLED, Code::kCancelled) &&
              Same(DUNLIN_CODE_UNKNOWN, Code::kUnknown) &&
              Same(DUNLIN_CODE_INVALID_ARGUMENT, Code::kInvalidArgument) &&
              Same(DUNLIN_CODE_DEADLINE_EXCEEDED, Code::kDeadlineExceeded) &&
              Same(DUNLIN_CODE_NOT_FOUND, Code::kNotFound) &&
              Same(DUNLIN_CODE_ALREADY_EXISTS, Code::kAlreadyExists) &&
              Same(DUNLIN_CODE_PERMISSION_DENIED, Code::kPermissionDenied) &&
              Same(DUNLIN_CODE_RESOURCE_EXHAUSTED, Code::kResourceExhausted) &&
              Same(DUNLIN_CODE_FAILED_PRECONDITION, Code::kFailedPrecondition) &&
              Same(DUNLIN_CODE_ABORTED, Code::kAborted) &&
              Same(DUNLIN_CODE_OUT_OF_RANGE, Code::kOutOfRange) &&
              Same(DUNLIN_CODE_UNIMPLEMENTED, Code::kUnimplemented) &&
              Same(DUNLIN_CODE_INTERNAL, Code::kInternal) &&
              Same(DUNLIN_CODE_UNAVAILABLE, Code::kUnavailable) &&
              Same(DUNLIN_CODE_DATA_LOSS, Code::kDataLoss) &&
              Same(DUNLIN_CODE_UNAUTHENTICATED, Code::kUnauthenticated));

}  // namespace

dunlin_outcome FromOutcome(Outcome outcome) { return static_cast<dunlin_outcome>(outcome); }

}  // namespace dunlin::c

const char* dunlin_outcome_name(int outcome) {
  // A value beyond the byte must not wrap round to another's name.
  const bool fits = outcome >= DUNLIN_OK && outcome <= DUNLIN_INTERNAL;
  // The names are literals, hence zero-terminated.
  return fits ? dunlin::OutcomeName(static_cast<dunlin::Outcome>(outcome)).data() : "no outcome";
}
