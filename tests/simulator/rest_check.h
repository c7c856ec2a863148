#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/server_host.h"

namespace dunlin::simulator {

struct RestReport {
  std::vector<std::string> violations;
  uint64_t records = 0;
  uint64_t reachable_bytes = 0;
  uint64_t leaked_bytes = 0;  // allocated, and no slot points there
};

// What a server's memory must be like when all clients have ended and the grace period is over:
// no lock held, no key twice, every slot's block allocated and its record whole, and every byte of
// the heap either free or of a record that a slot points to.
RestReport CheckAtRest(const ServerHost& server);

}  // namespace dunlin::simulator
