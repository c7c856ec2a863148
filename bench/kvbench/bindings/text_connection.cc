#include "bench/kvbench/bindings/text_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr size_t kReceiveBytes = 64 << 10;

}  // namespace

absl::Status TextConnection::Connect() {
  if (socket_.valid()) return absl::OkStatus();
  auto connected = server_.socket.empty() ? ConnectTcp() : ConnectUnix();
  if (!connected.ok()) return connected.status();
  socket_ = *std::move(connected);
  const timeval timeout = {timeout_ms_ / 1000, timeout_ms_ % 1000 * 1000};
  if (setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0) {
    return Lost(std::strerror(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> TextConnection::ConnectUnix() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (server_.socket.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError("the path of the socket is too long: " + server_.socket);
  }
  server_.socket.copy(address.sun_path, server_.socket.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return absl::UnavailableError("cannot connect to " + server_.socket + ": " +
                                  std::strerror(errno));
  }
  return fd;
}

absl::StatusOr<UniqueFd> TextConnection::ConnectTcp() const {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(server_.host.c_str(), std::to_string(server_.port).c_str(), &hints, &list);
  if (error != 0) {
    return absl::UnavailableError("cannot find " + server_.host + ": " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> freed(list, freeaddrinfo);
  int last = 0;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    UniqueFd fd(socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    if (fd.valid() && connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0) {
      const int on = 1;
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return fd;
    }
    last = errno;
  }
  return absl::UnavailableError("cannot connect to " + server_.Name() + ": " + std::strerror(last));
}

absl::Status TextConnection::Send(std::string_view text) {
  next_ = end_ = 0;
  while (!text.empty()) {
    const ssize_t sent = send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      text.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      DUNLIN_RETURN_IF_ERROR(WaitToSend());
    } else if (errno != EINTR) {
      return Lost(std::strerror(errno));
    }
  }
  return absl::OkStatus();
}

// A server whose answers nobody takes may not read on.
absl::Status TextConnection::WaitToSend() {
  pollfd wait = {socket_.get(), POLLIN | POLLOUT, 0};
  const int ready = poll(&wait, 1, static_cast<int>(timeout_ms_));
  if (ready == 0) return Lost("it takes nothing any more");
  if (ready < 0 && errno != EINTR) return Lost(std::strerror(errno));
  return ready > 0 && (wait.revents & POLLIN) != 0 ? Receive(MSG_DONTWAIT) : absl::OkStatus();
}

absl::Status TextConnection::Receive(int flags) {
  if (received_.size() - end_ < kReceiveBytes) received_.resize(end_ + 2 * kReceiveBytes);
  for (;;) {
    const ssize_t got =
        recv(socket_.get(), received_.data() + end_, received_.size() - end_, flags);
    if (got > 0) {
      end_ += static_cast<size_t>(got);
      return absl::OkStatus();
    }
    if (got == 0) return Lost("it closed the connection");
    if (errno == EAGAIN && (flags & MSG_DONTWAIT) != 0) return absl::OkStatus();
    if (errno == EAGAIN) return Lost("no answer in time");
    if (errno != EINTR) return Lost(std::strerror(errno));
  }
}

absl::StatusOr<TextConnection::Piece> TextConnection::ReadLine() {
  size_t seen = 0;
  for (;;) {
    const char* const from = received_.data() + next_;
    const size_t bytes = end_ - next_;
    const void* const found =
        bytes == seen ? nullptr : std::memchr(from + seen, '\n', bytes - seen);
    if (found != nullptr) {
      const size_t line = static_cast<size_t>(static_cast<const char*>(found) - from);
      const Piece piece{next_, line > 0 && from[line - 1] == '\r' ? line - 1 : line};
      next_ += line + 1;
      return piece;
    }
    seen = bytes;
    DUNLIN_RETURN_IF_ERROR(Receive(0));
  }
}

absl::StatusOr<TextConnection::Piece> TextConnection::ReadBytes(size_t bytes) {
  while (end_ - next_ < bytes + 2) DUNLIN_RETURN_IF_ERROR(Receive(0));
  const Piece piece{next_, bytes};
  next_ += bytes;
  if (Text({next_, 2}) != "\r\n") return Lost("a value is longer than it was said to be");
  next_ += 2;
  return piece;
}

absl::Status TextConnection::Lost(std::string_view why) {
  socket_.Reset();
  return absl::UnavailableError("server at " + server_.Name() + ": " + std::string(why));
}

}  // namespace dunlin::kvbench
