#include "client/lane/connect_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "common/base/status.h"

namespace dunlin {
namespace {

absl::Status Failure(const std::string& path, int error) {
  const std::string reason = std::generic_category().message(error);
  switch (error) {
    case EACCES:
    case EPERM:
      return MakeStatus(absl::StatusCode::kPermissionDenied,
                        "not allowed to connect to the server's socket '" + path + "' (" + reason +
                            "): the server's options set its owner, group and mode");
    case EPROTOTYPE:
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "'" + path + "' is not a stream socket (" + reason +
                            "): expected the socket of a dunlin-server");
    default:
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "no server listens on the socket '" + path + "' (" + reason +
                            "): start dunlin-server, or name the socket of a running one");
  }
}

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path ||
      path.find('\0') != std::string::npos) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "path of the server's socket: expected 1 to " +
                          std::to_string(sizeof address.sun_path - 1) + " bytes, found " +
                          std::to_string(path.size()) + " in '" + path + "'");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

absl::StatusOr<UniqueFd> ConnectSocket(const std::string& path, Deadline deadline) {
  DUNLIN_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "no socket to be had: " + std::generic_category().message(errno));
  }
  for (;;) {
    const int64_t micros = deadline.NanosLeft() / 1000;
    if (micros == 0) break;
    // A nonblocking connect to a Unix socket whose backlog is full fails at once and gives nothing
    // to wait for; one that blocks honours the send timeout.
    const timeval timeout{static_cast<time_t>(micros / 1'000'000),
                          static_cast<suseconds_t>(micros % 1'000'000)};
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0) {
      return Failure(path, errno);
    }
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return socket;
    }
    if (errno == EAGAIN) break;
    if (errno != EINTR) return Failure(path, errno);
  }
  return MakeStatus(
      absl::StatusCode::kDeadlineExceeded,
      "the server on the socket '" + path + "' did not accept the connection in time");
}

}  // namespace dunlin
