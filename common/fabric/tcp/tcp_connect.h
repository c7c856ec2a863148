#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/base/unique_fd.h"

namespace dunlin {

// Connects to HOST:PORT, trying each address that the name stands for in turn. The socket doesn't
// block, sends at once what it is given (TCP_NODELAY), and fails when the other side has not been
// heard of for about `silence_ms`. Errors: InvalidArgument (no such port), Unavailable (no
// such host, as far as the resolver can tell now; nobody listens there), DeadlineExceeded.
absl::StatusOr<UniqueFd> TcpConnect(const std::string& host, const std::string& port,
                                    Deadline deadline, int silence_ms);

// The same settings for a socket that was accepted.
absl::Status TuneTcpSocket(int socket, int silence_ms);

}  // namespace dunlin
