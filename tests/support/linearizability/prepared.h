#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/linearizability/checker.h"

namespace dunlin::linearizability {

inline constexpr uint32_t kNone = ~uint32_t{0};

// An operation with its versions and opaque values replaced by small numbers.
struct Step {
  const Operation* source = nullptr;
  int64_t invoked = 0;
  // It took place no later: its response, or an earlier one of who saw what it wrote.
  int64_t deadline = kNever;
  uint32_t writes = kNone;        // version
  uint32_t sees = kNone;          // version that its answer says was current
  uint32_t value = kNone;         // opaque value that it writes, or saw
  int64_t expires_from = kNever;  // of what it writes, tolerance included
  int64_t expires_until = kNever;
};

struct Version {
  uint32_t writer = kNone;  // among the certain steps; else an operation of unknown outcome
  uint32_t seen_by = 0;     // certain steps
  bool wanted = false;      // by a compare-and-set of unknown outcome
};

struct OpaqueValue {
  uint32_t writers = 0;
  uint32_t seen_by = 0;  // certain steps
};

// One key's history, made ready for the search.
struct Prepared {
  // Those that took place, by invocation; among them such of unknown outcome whose value was seen.
  std::vector<Step> certain;
  // Those that may have taken place, or not. Within one list they do the same, so who needs one
  // takes the one invoked first.
  std::vector<std::vector<Step>> optional;
  std::vector<Version> versions;
  std::vector<OpaqueValue> values;
  bool records_may_vanish = false;
  std::string contradiction;  // found without any search; empty if none
};

Prepared Prepare(std::span<const Operation> operations, const Options& options);

}  // namespace dunlin::linearizability
