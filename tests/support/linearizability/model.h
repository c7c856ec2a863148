#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/linearizability/prepared.h"

namespace dunlin::linearizability {

// The record that is there.
struct State {
  bool present = false;
  bool integer = false;
  uint32_t version = kNone;  // kNone: of an operation of which no answer says it
  uint32_t value = kNone;    // if not an integer; kNone: nobody sees it
  int64_t number = 0;        // if an integer
  int64_t expires_from = kNever;
  int64_t expires_until = kNever;
  bool operator==(const State&) const = default;
};

// Who has yet to see what, as the search goes on.
struct Observers {
  std::vector<uint32_t> of_version;  // left
  std::vector<uint32_t> of_value;    // left
  std::vector<bool> bound;           // versions of unknown writers that a record has had
};

enum class Fit : uint8_t {
  kNo,       // the state doesn't explain the answer
  kSame,     // it does, and stays
  kChanges,  // it does, and the next one follows
  kBinds,    // it does if the record, whose version no answer says, has the one that was seen
};

// What becomes of `state` when `step` takes place at `time` or later. For steps of unknown outcome:
// if it succeeds.
Fit Apply(const Prepared& history, const Observers& observers, const Step& step, const State& state,
          int64_t time, State* next);

// Whether `state` may be left for `next`: nobody has yet to see what won't come back.
bool MayLeave(const Prepared& history, const Observers& observers, const State& state,
              const State& next);

}  // namespace dunlin::linearizability
