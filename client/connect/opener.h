#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/connect/fork_guard.h"
#include "client/connect/session_parts.h"
#include "client/lane/lane.h"
#include "common/base/deadline.h"
#include "common/base/host_port.h"
#include "common/fabric/remote.h"

namespace dunlin {

// Opens connections to one server over one fabric, as often as it takes. Thread safe.
class Opener {
 public:
  virtual ~Opener() = default;

  struct Request {
    std::string name;
    bool read_only = false;
    // An earlier session of this client that is over; 0: none. It is fenced when OpenSession
    // returns.
    uint32_t replaces = 0;
    uint64_t replaces_token = 0;
    uint64_t replaces_incarnation = 0;  // of the server that it was a session of
  };
  // Errors: those of Lane::Hello and of connecting, FailedPrecondition for a region that this build
  // can't use.
  virtual absl::StatusOr<std::unique_ptr<SessionParts>> OpenSession(const Request& request,
                                                                    Deadline deadline) = 0;
  // A lane without a session, for Ping and Status.
  virtual absl::StatusOr<std::unique_ptr<Lane>> OpenLane(Deadline deadline) = 0;

  // Whether a server that is gone shows only to who asks: there is no connection that the kernel of
  // this machine ends for it.
  virtual bool remote() const = 0;
};

// On shared memory, by the path of the server's Unix socket.
std::unique_ptr<Opener> MakeShmOpener(std::string socket_path, std::shared_ptr<ForkGuard> guard);

// Over TCP. `silence`: how long the server may leave unacknowledged what it was sent.
std::unique_ptr<Opener> MakeTcpOpener(HostPort address, std::chrono::milliseconds silence,
                                      std::shared_ptr<ForkGuard> guard);

// Over RDMA.
std::unique_ptr<Opener> MakeRdmaOpener(HostPort address, std::shared_ptr<ForkGuard> guard);

// Over any network, by what makes a connection.
using Dial = std::function<absl::StatusOr<std::unique_ptr<RemoteConnection>>(Deadline)>;
std::unique_ptr<Opener> MakeRemoteOpener(Dial dial, std::shared_ptr<ForkGuard> guard);

}  // namespace dunlin
