#pragma once

#include "absl/status/statusor.h"
#include "common/base/log.h"
#include "server/options.h"
#include "server/region.h"
#include "server/server.h"

namespace dunlin {

// Opens what the options ask the server to listen on besides its Unix socket, and settles who
// executes the atomics of its clients; the log says which and why. Errors name the option and the
// remedy. `clock`, the region and the logger are borrowed for as long as the network lives.
// REQUIRES: CheckOptions is OK.
absl::StatusOr<Server::Network> OpenNetwork(const ServerOptions& options, const Region& region,
                                            const Clock* clock, Logger& logger);

}  // namespace dunlin
