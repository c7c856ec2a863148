#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/connect/opener.h"
#include "client/connect/server_health.h"
#include "client/connect/session_parts.h"
#include "common/base/clock.h"
#include "dunlin/client.h"
#include "dunlin/session.h"

namespace dunlin {

// What a session needs to connect again when its connection is lost.
struct SessionOrigin {
  std::shared_ptr<Opener> opener;
  std::shared_ptr<const ServerHealth> health;
  Opener::Request request;  // without `replaces`
  Milliseconds connect_deadline{1000};
  const Clock* clock = &SystemClock::Shared();  // outlives the session
};

// A session on an open connection. Fetches the directory: 3 RTT.
absl::StatusOr<std::unique_ptr<Session>> MakeSession(SessionOrigin origin,
                                                     std::unique_ptr<SessionParts> parts,
                                                     const SessionOptions& options);

}  // namespace dunlin
