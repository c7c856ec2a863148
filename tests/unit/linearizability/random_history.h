#pragma once

#include <vector>

#include "common/base/random.h"
#include "tests/support/linearizability/history.h"

namespace dunlin::linearizability {

struct HistoryPlan {
  int clients = 4;
  int operations = 100;
  // Of 1000: clients that die in a call, answers that say nothing, calls that last long.
  int deaths = 0;
  int unknown = 0;
  int long_calls = 0;
  int64_t longest_ttl = 0;  // 0: none
  bool counters = true;
  bool removals = true;
  uint64_t values = 0;  // so many different ones; 0: each write has its own
};

// What clients of a correct store could have seen of one key: each operation takes place at a
// moment of its call. Answers that say nothing may still have taken place.
std::vector<Operation> RandomHistory(const HistoryPlan& plan, Random& random);

}  // namespace dunlin::linearizability
