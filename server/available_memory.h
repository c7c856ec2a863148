#pragma once

#include <cstdint>
#include <string>

namespace dunlin {

// How many bytes of memory this process could still take without any other being killed for it:
// what the kernel calls available, or less if a control group (v2) of ours or above it has less
// room. Filling a memfd or a tmpfs beyond that does not fail, it calls the OOM killer, which spares
// us: the pages are nobody's. 2^64 - 1 if the system doesn't say. `root` is prefixed to all paths,
// for tests.
uint64_t AvailableMemory(const std::string& root = "");

// While this exists, the OOM killer takes this process before any other.
class FirstToBeKilled {
 public:
  FirstToBeKilled();
  ~FirstToBeKilled();
  FirstToBeKilled(const FirstToBeKilled&) = delete;
  FirstToBeKilled& operator=(const FirstToBeKilled&) = delete;

 private:
  std::string before_;  // empty: could not be changed
};

}  // namespace dunlin
