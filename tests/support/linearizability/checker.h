#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/support/linearizability/history.h"

namespace dunlin::linearizability {

struct Options {
  // How much earlier or later than its time to live says a record may expire, in nanoseconds: the
  // resolution of the store's clock and how much that clock lagged.
  int64_t expiry_tolerance = 0;
  // The store may evict: any record may vanish by itself at any time.
  bool records_may_vanish = false;
  // Gives up beyond so many configurations (sets of operations that have taken place, with the
  // record that they left). About 100 bytes each.
  uint64_t max_configurations = 4'000'000;
};

enum class Verdict : uint8_t {
  kLinearizable,
  kViolation,
  kUndecided,  // gave up: neither a pass nor a fail of what was tested, but the run's set-up failed
};

struct Report {
  Verdict verdict = Verdict::kUndecided;
  std::string explanation;  // what could not be explained; empty if linearizable
  uint64_t configurations = 0;
};

// Whether some order of these operations, all on one key that is absent at first, explains every
// answer: each takes place at once, between its invocation and its response. The operations may
// come in any order. Pure: no clock, no I/O.
//
// A record that expires at time E may vanish by itself no sooner than E - tolerance, and is found
// by no one later than E + tolerance, where E lies the time to live after some moment of the call
// that set it.
//
// The search is that of Wing and Gong with Lowe's memoisation, and prunes by versions: they are
// used once, so a record that was replaced never comes back. It takes time linear in the operations
// as long as orders of what overlaps can be told apart soon, as answers with versions do.
Report Check(std::span<const Operation> operations, const Options& options = {});

}  // namespace dunlin::linearizability
