#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dunlin::testing {

// Runs the server to its end, for starts that are expected to fail.
struct ServerRun {
  int code = -1;       // exit code; -1: died by a signal, or had to be killed after 30 s
  std::string output;  // stdout and stderr
};
struct RunOptions {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;   // NAME=VALUE, besides ours
  bool as_nobody = false;                 // needs root
  uint64_t memlock_bytes = ~uint64_t{0};  // RLIMIT_MEMLOCK
};
ServerRun RunServer(const RunOptions& options);

}  // namespace dunlin::testing
