#include "common/fabric/tcp/tcp_endpoint.h"

#include <netdb.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/fabric/tcp/tcp_connect.h"

namespace dunlin {
namespace {

constexpr uint64_t kListener = 0;
constexpr int kMostAccepts = 16;

std::string ErrnoText(int error) { return std::generic_category().message(error); }

std::string AddressText(const sockaddr_storage& address, socklen_t length) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  const bool v6 = address.ss_family == AF_INET6;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

Transfer Failed(int error) {
  Transfer failed;
  if (error == EAGAIN || error == EWOULDBLOCK) return failed;
  if (error == ECONNRESET || error == EPIPE || error == ETIMEDOUT) {
    failed.hung_up = true;
  } else {
    failed.why = ErrnoText(error);
  }
  return failed;
}

}  // namespace

class TcpEndpoint::Peer final : public EndpointPeer {
 public:
  Peer(TcpEndpoint* endpoint, UniqueFd socket, uint64_t number, std::string name)
      : endpoint_(endpoint), socket_(std::move(socket)), number_(number), name_(std::move(name)) {}
  ~Peer() override {
    if (endpoint_ != nullptr) endpoint_->peers_.erase(number_);
  }

  Transfer Receive(std::span<std::byte> buffer) override {
    ssize_t n;
    do {
      n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return Failed(errno);
    Transfer came;
    came.bytes = static_cast<size_t>(n);
    came.hung_up = n == 0;
    // Less than there was room for was all of it, and the next byte makes a new edge. An end that
    // an edge has told already would not.
    came.drained = came.bytes < buffer.size() && !ending_;
    return came;
  }

  Transfer Send(std::span<const std::byte> bytes) override {
    ssize_t n;
    do {
      n = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return Failed(errno);
    Transfer sent;
    sent.bytes = static_cast<size_t>(n);
    return sent;
  }

  void SetTag(uint64_t tag) override { tag_ = tag; }
  const std::string& name() const override { return name_; }
  RegionAccess Access(bool read_only) const override {
    RegionAccess access;
    if (endpoint_ != nullptr) access.region_bytes = endpoint_->options_.region_bytes;
    access.read_only = read_only;
    return access;
  }

  uint64_t tag() const { return tag_; }
  void Forget() { endpoint_ = nullptr; }
  void NoteEnding() { ending_ = true; }

 private:
  TcpEndpoint* endpoint_;  // null once that is gone
  const UniqueFd socket_;
  const uint64_t number_;
  const std::string name_;
  uint64_t tag_ = 0;
  bool ending_ = false;  // the peer will send no more, or the connection broke
};

TcpEndpoint::~TcpEndpoint() {
  for (auto& [number, peer] : peers_) peer->Forget();
}

absl::StatusOr<std::unique_ptr<TcpEndpoint>> TcpEndpoint::Listen(const Options& options) {
  std::unique_ptr<TcpEndpoint> endpoint(new TcpEndpoint());
  endpoint->options_ = options;
  DUNLIN_RETURN_IF_ERROR(endpoint->Bind(options));
  return endpoint;
}

absl::Status TcpEndpoint::Bind(const Options& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (int error = getaddrinfo(options.host.c_str(), options.port.c_str(), &hints, &found);
      error != 0) {
    return MakeStatus(
        absl::StatusCode::kInvalidArgument,
        "tcp: host '" + options.host + "', port '" + options.port + "': " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    UniqueFd socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (!socket.valid() ||
        setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(socket.get(), at->ai_addr, at->ai_addrlen) != 0 ||
        listen(socket.get(), SOMAXCONN) != 0) {
      error = errno;
      continue;
    }
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length);
    name_ = "tcp://" + AddressText(bound, length);
    listener_ = std::move(socket);
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "tcp: cannot listen at " + options.host + ":" + options.port + " (" +
                        ErrnoText(error) + "): expected a free port at an address of this machine");
}

absl::Status TcpEndpoint::WatchIn(int epoll, uint64_t data) {
  epoll_ = epoll;
  data_ = data;
  if (WatchListener(EPOLL_CTL_ADD, true)) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "epoll_ctl");
}

bool TcpEndpoint::WatchListener(int operation, bool watch) {
  epoll_event event{};
  event.events = watch ? uint32_t{EPOLLIN} : 0;
  event.data.u64 = data_ + kListener;
  paused_ = !watch;
  return epoll_ctl(epoll_, operation, listener_.get(), &event) == 0;
}

void TcpEndpoint::Probe() {
  if (paused_ && listener_.valid()) WatchListener(EPOLL_CTL_MOD, true);
}

void TcpEndpoint::Accept(std::vector<std::unique_ptr<EndpointPeer>>& accepted) {
  for (int i = 0; i < kMostAccepts && listener_.valid(); ++i) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    UniqueFd socket(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      // What can't be accepted stays in the backlog and would wake the server without end.
      const bool shortage =
          errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
      if (shortage) WatchListener(EPOLL_CTL_MOD, false);
      return;
    }
    // A peer that has hung up already shows when it is read.
    TuneTcpSocket(socket.get(), options_.silence_ms).IgnoreError();
    const uint64_t number = next_++;
    epoll_event event{};
    // Each edge is told once: the server reads until nothing is left.
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = data_ + number;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, socket.get(), &event) != 0) continue;
    auto peer = std::make_unique<Peer>(this, std::move(socket), number,
                                       "tcp " + AddressText(address, length));
    peers_.emplace(number, peer.get());
    accepted.push_back(std::move(peer));
  }
}

void TcpEndpoint::Progress(uint64_t number, uint32_t events,
                           std::vector<std::unique_ptr<EndpointPeer>>& accepted,
                           std::vector<Ready>& ready) {
  if (number == kListener) return Accept(accepted);
  auto found = peers_.find(number);
  if (found == peers_.end()) return;  // of this turn, but gone meanwhile
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) found->second->NoteEnding();
  ready.push_back(
      {found->second->tag(), (events & ~uint32_t{EPOLLOUT}) != 0, (events & EPOLLOUT) != 0});
}

}  // namespace dunlin
