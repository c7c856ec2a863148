#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/faults.h"

namespace dunlin::simulator {

// What a run did and what it found.
struct Outline {
  uint64_t digest = 0;
  uint64_t events = 0;
  int64_t simulated = 0;  // nanoseconds
  uint64_t operations = 0;
  uint64_t answered = 0;  // with what changes or tells something
  uint64_t unknown = 0;
  uint64_t no_effect = 0;
  uint64_t memory_full = 0;
  uint64_t index_full = 0;
  uint64_t kills = 0;
  uint64_t stops = 0;
  uint64_t cuts = 0;
  uint64_t jumps = 0;
  uint64_t stalls = 0;
  uint64_t crashes = 0;
  uint64_t connections = 0;
  uint64_t reconnects = 0;
  uint64_t resolved = 0;
  uint64_t absorbed = 0;
  uint64_t ended_by_force = 0;
  uint64_t swept = 0;
  uint64_t relocated = 0;
  uint64_t expired = 0;
  uint64_t splits = 0;
  uint64_t evicted = 0;
  uint64_t locks_released = 0;
  uint64_t blocks_recovered = 0;
  uint64_t records = 0;
  uint64_t leaked_bytes = 0;
  uint64_t undecided = 0;
  std::vector<std::string> violations;

  void Add(const Outline& other);
  std::string Line() const;
};

// One run: the load under its faults until its operations are used up, then quiet, then all checks.
Outline Simulate(uint64_t seed, const Faults& faults, bool trace);

}  // namespace dunlin::simulator
