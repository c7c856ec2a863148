#include "common/fabric/tcp/tcp_connect.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <system_error>

#include "common/base/status.h"

namespace dunlin {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string ErrnoText(int error) { return std::generic_category().message(error); }

absl::Status Set(int socket, int level, int option, int value, const char* name) {
  if (setsockopt(socket, level, option, &value, sizeof value) == 0) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    std::string(name) + " cannot be set: " + ErrnoText(errno));
}

absl::StatusOr<Addresses> Resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error == 0) return Addresses(found, freeaddrinfo);
  const bool for_now = error != EAI_SERVICE && error != EAI_BADFLAGS;
  return MakeStatus(for_now ? absl::StatusCode::kUnavailable : absl::StatusCode::kInvalidArgument,
                    "host '" + host + "', port '" + port + "': " + gai_strerror(error));
}

// 0, or an errno; ETIMEDOUT if the deadline came first.
int AwaitConnected(int socket, Deadline deadline) {
  for (;;) {
    const int64_t left = deadline.NanosLeft();
    if (left == 0) return ETIMEDOUT;
    pollfd waited{socket, POLLOUT, 0};
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    const int ready = ppoll(&waited, 1, &timeout, nullptr);
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) continue;
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    return error;
  }
}

UniqueFd ConnectTo(const addrinfo& address, Deadline deadline, int* error) {
  UniqueFd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) {
    *error = errno;
    return socket;
  }
  *error = 0;
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    *error =
        errno == EINPROGRESS || errno == EINTR ? AwaitConnected(socket.get(), deadline) : errno;
  }
  return socket;
}

}  // namespace

absl::Status TuneTcpSocket(int socket, int silence_ms) {
  DUNLIN_RETURN_IF_ERROR(Set(socket, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"));
  // An idle peer that vanished: keep-alive counts in seconds. One that owes an acknowledgement: the
  // user timeout.
  const int seconds = std::max(1, silence_ms / 1000);
  DUNLIN_RETURN_IF_ERROR(Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"));
  DUNLIN_RETURN_IF_ERROR(Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds, "TCP_KEEPIDLE"));
  DUNLIN_RETURN_IF_ERROR(Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1, "TCP_KEEPINTVL"));
  DUNLIN_RETURN_IF_ERROR(Set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3, "TCP_KEEPCNT"));
  return Set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, std::max(1, silence_ms), "TCP_USER_TIMEOUT");
}

absl::StatusOr<UniqueFd> TcpConnect(const std::string& host, const std::string& port,
                                    Deadline deadline, int silence_ms) {
  DUNLIN_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port));
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    UniqueFd socket = ConnectTo(*at, deadline, &error);
    if (error != 0) continue;
    DUNLIN_RETURN_IF_ERROR(TuneTcpSocket(socket.get(), silence_ms));
    return socket;
  }
  if (error == ETIMEDOUT && deadline.NanosLeft() == 0) {
    return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                      "no answer from " + host + ":" + port + " in time");
  }
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "no server listens at " + host + ":" + port + " (" + ErrnoText(error) +
                        "): start dunlin-server with --tcp, or name the address of a running one");
}

}  // namespace dunlin
