#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/host_port.h"

namespace dunlin {

// One way to a server.
struct Target {
  enum class Fabric { kShm, kTcp, kRdma };
  Fabric fabric = Fabric::kShm;
  std::string text;  // as it was given
  std::string path;  // kShm: of the server's Unix socket
  HostPort address;  // the others
};

// "shm://PATH", "tcp://HOST:PORT", "rdma://HOST:PORT", or several, separated by commas.
// InvalidArgument says what was found instead.
absl::StatusOr<std::vector<Target>> ParseTargets(std::string_view text);

}  // namespace dunlin
