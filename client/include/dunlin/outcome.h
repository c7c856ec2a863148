#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "dunlin/export.h"

namespace dunlin {

// How an operation ended, in one byte: the hot path builds no message. Values are stable and shared
// with the C interface.
enum class Outcome : uint8_t {
  kOk = 0,
  kNotFound = 1,         // the key is not there (or its time to live is over)
  kExists = 2,           // put with kIfAbsent: the key is there; its value is unchanged
  kVersionMismatch = 3,  // compare-and-set: the key has another version; its value is unchanged
  kNotInteger = 4,       // add: the value is not a decimal 64-bit integer; it is unchanged
  kOverflow = 5,         // add: the sum is not a 64-bit integer; the value is unchanged
  kTooLarge = 6,         // key or value over the server's limit; nothing was changed
  kBufferTooSmall = 7,   // the caller's buffer: value_bytes says what it takes
  kMemoryFull = 8,  // the server has no memory for the record; nothing was changed, reads go on
  kIndexFull = 9,   // no free slot for a new key; nothing was changed, updates and reads go on
  kContended = 10,  // gave up after many lost races; nothing was changed
  kDeadlineExceeded = 11,  // nothing was changed
  kUnavailable = 12,       // no connection to the server; nothing was changed
  kUnknown = 13,           // a write may or may not have been executed; not to be retried blindly
  kDataLoss = 14,          // a record is damaged
  kInvalidArgument = 15,   // an empty key, a negative time to live, ...
  kPermissionDenied = 16,  // a write in a read-only session
  kForked = 17,            // used in a child process after fork()
  kInternal = 18,          // a broken invariant of Dunlin's own: please report it
};

// "not found", "memory full", ... in lower case.
DUNLIN_EXPORT std::string_view OutcomeName(Outcome outcome);

// The absl code that fits best: kUnknown is absl::StatusCode::kUnknown, kContended kAborted,
// kExists kAlreadyExists, kVersionMismatch kFailedPrecondition, kMemoryFull and kIndexFull
// kResourceExhausted, kNotInteger and kTooLarge kInvalidArgument, kOverflow kOutOfRange,
// kBufferTooSmall kOutOfRange, kForked kFailedPrecondition.
DUNLIN_EXPORT absl::Status ToStatus(Outcome outcome, std::string_view detail = {});

}  // namespace dunlin
