#pragma once

#include <string>

#include "absl/status/status.h"
#include "dunlin/outcome.h"

namespace dunlin::kvctl {

// What kvctl returns to its caller: part of its interface, never renumbered.
enum class ExitCode : int {
  kOk = 0,
  kOther = 1,               // an internal error, or input or output failed
  kUsage = 2,               // wrong command line, or an argument that no server would accept
  kNotFound = 3,            // the key or snapshot is not there
  kPreconditionFailed = 4,  // another version, already there, not an integer, overflow; a
                            // snapshot that must not go, a directory in use
  kUnavailable = 5,         // no server, no permission, another layout, lost too many races
  kDeadlineExceeded = 6,    // the time given by --timeout is over
  kResourceExhausted = 7,   // memory, index or disk full, key or value too large
  kDataLoss = 8,            // a record or snapshot is damaged
  kOutcomeUnknown = 9,      // a write may or may not have taken place
  kSomeFailed = 10,         // import or export went to the end, with failed records
  kProblemsFound = 11,      // doctor found a problem
};

// Why a command failed, as it is told to the user.
struct Failure {
  ExitCode exit = ExitCode::kOther;
  std::string code;  // "NOT_FOUND": the outcome's or status code's name, for `-o json`
  std::string message;
};

// REQUIRES: not kOk. An outcome is worth more than a status: several outcomes share a status code.
Failure FailureOf(Outcome outcome, std::string_view context);
Failure FailureOf(const absl::Status& status);

// One line a code, for --help.
std::string DescribeExitCodes();

}  // namespace dunlin::kvctl
