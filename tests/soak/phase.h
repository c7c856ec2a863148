#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/linearizability/fleet.h"
#include "tests/support/heap_account.h"
#include "tests/support/server_process.h"

namespace dunlin::testing {

struct PhasePlan {
  std::string server_binary, client_binary, loader_binary;
  std::string mode = "store";
  uint64_t memory_mib = 512;
  uint64_t seed = 1;
  int64_t nanos = 0;
  TestFabric fabric;
};

// Sums over all loaders.
struct LoadFigures {
  uint64_t gets = 0, puts = 0, removes = 0, hits = 0, evicted = 0, expired = 0;
  uint64_t refused = 0, errors = 0, unknown = 0, waves = 0, most_records = 0, violations = 0;
  int64_t found_late_nanos = 0, gone_early_nanos = 0;
  uint64_t operations() const { return gets + puts + removes; }
};

struct PhaseFigures {
  std::string mode;
  double seconds = 0;
  FleetFigures fleet;
  LoadFigures load;
  uint64_t samples = 0, most_used_bytes = 0, most_sessions = 0;
  ServerStatus last;    // while it was under load
  HeapAccount account;  // afterwards
  std::vector<std::string> faults;
};

// One server in one mode: clients that are killed and stopped and whose histories are checked,
// loaders that fill and empty the memory, and in the end an account of every byte.
absl::StatusOr<PhaseFigures> RunPhase(const PhasePlan& plan);

}  // namespace dunlin::testing
