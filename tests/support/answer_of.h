#pragma once

#include <optional>

#include "dunlin/outcome.h"
#include "tests/support/linearizability/history.h"

namespace dunlin::testing {

// What a call's outcome is in a history; nothing for one that no call of a history should have.
inline std::optional<linearizability::Answer> AnswerOf(Outcome outcome) {
  using linearizability::Answer;
  switch (outcome) {
    case Outcome::kOk:
      return Answer::kOk;
    case Outcome::kNotFound:
      return Answer::kNotFound;
    case Outcome::kExists:
      return Answer::kExists;
    case Outcome::kVersionMismatch:
      return Answer::kVersionMismatch;
    case Outcome::kNotInteger:
      return Answer::kNotInteger;
    case Outcome::kOverflow:
      return Answer::kOverflow;
    case Outcome::kUnknown:
      return Answer::kUnknown;
    case Outcome::kMemoryFull:
    case Outcome::kIndexFull:
    case Outcome::kContended:
    case Outcome::kDeadlineExceeded:
    case Outcome::kUnavailable:
      return Answer::kNoEffect;
    default:
      return std::nullopt;
  }
}

}  // namespace dunlin::testing
