#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/explorer/scenario.h"

namespace dunlin::explorer {

struct SearchResult {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint64_t histories = 0;    // different ends, each with its history checked
  double interleavings = 0;  // that led to them
  uint32_t depth = 0;        // longest path
  double seconds = 0;
  bool exhausted = true;  // false: stopped at the limit of states
  std::string violation;  // empty: none
  std::vector<std::string> trace;
};

// Visits every state that the scenario can reach, depth first, each once, until something is wrong.
SearchResult Search(const Scenario& scenario, uint64_t max_states);

}  // namespace dunlin::explorer
