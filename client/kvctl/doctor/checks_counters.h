#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/kvctl/doctor/counter_table.h"
#include "client/kvctl/doctor/finding.h"

namespace dunlin::kvctl {

using Counters = std::map<std::string, uint64_t>;

// The counters of some kinds in one folder, weighed.
struct CounterSight {
  std::vector<Evidence> evidence;  // those that are not 0
  uint32_t shown = 0;              // how many of these kinds the folder has
  bool rising = false;             // one rose between two looks
  bool any() const { return !evidence.empty(); }
};

// `before` are the same counters at an earlier look, or null.
CounterSight LookAtCounters(const std::string& folder, const Counters& now, const Counters* before,
                            std::span<const CounterMeaning> table,
                            std::initializer_list<CounterKind> kinds);

// Joins the sights of several folders.
void Add(const CounterSight& more, CounterSight* sight);

}  // namespace dunlin::kvctl
