#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/fabric/remote.h"
#include "common/fabric/verbs/verbs_options.h"

namespace dunlin {

// A connection to the server at `host`, a name or an address (IPv6 with its scope: fe80::1%eth0),
// over InfiniBand, RoCE or iWARP, whichever adapter the route leads to. Each address of the host is
// tried in turn. Ends with the deadline, but for two things that are the system's: the look-up of a
// name, and, on Linux's software iWARP, giving up on a host that accepts and then says nothing (10
// s).
//
// Errors name the host, what was tried and the remedy: InvalidArgument (no such host), Unavailable
// (no RDMA here, no route, nobody listens, the server is full), DeadlineExceeded,
// FailedPrecondition (the peer speaks another version, or is no Dunlin server), ResourceExhausted
// (queue pairs, locked memory).
absl::StatusOr<std::unique_ptr<RemoteConnection>> DialVerbs(const std::string& host,
                                                            const std::string& port,
                                                            Deadline deadline,
                                                            const VerbsOptions& options);

}  // namespace dunlin
