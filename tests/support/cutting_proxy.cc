#include "tests/support/cutting_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/base/check.h"

namespace dunlin::testing {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

void SendAtOnce(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool SendAll(int socket, const char* bytes, size_t count) {
  while (count != 0) {
    const ssize_t n = send(socket, bytes, count, MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes += n;
    count -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(const std::string& port) : server_port_(port) {
  listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  DUNLIN_CHECK_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  DUNLIN_CHECK_EQ(listen(listener_.get(), 16), 0);
  socklen_t length = sizeof address;
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { Run(); });
}

CuttingProxy::~CuttingProxy() {
  ending_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void CuttingProxy::CutAfter(uint64_t bytes_to_server) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Pair& pair : pairs_) pair.limited = true;
  left_ = static_cast<int64_t>(bytes_to_server);
}

void CuttingProxy::Accept() {
  Pair pair;
  pair.client.Reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  pair.server.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(static_cast<uint16_t>(std::atoi(server_port_.c_str())));
  if (connect(pair.server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return;
  }
  SendAtOnce(pair.client.get());
  SendAtOnce(pair.server.get());
  pairs_.push_back(std::move(pair));
}

// False: the pair is to be closed.
bool CuttingProxy::Relay(Pair& pair, bool to_server) {
  char buffer[4096];
  int from = to_server ? pair.client.get() : pair.server.get();
  int to = to_server ? pair.server.get() : pair.client.get();
  ssize_t n = recv(from, buffer, sizeof buffer, 0);
  if (n <= 0) return false;
  if (silent_) return true;
  if (!pair.limited) return SendAll(to, buffer, static_cast<size_t>(n));
  if (left_ < 0) return false;
  if (!to_server) return SendAll(to, buffer, static_cast<size_t>(n));
  const int64_t passed = std::min<int64_t>(n, left_);
  if (!SendAll(to, buffer, static_cast<size_t>(passed))) return false;
  left_ -= n;
  return left_ >= 0;
}

void CuttingProxy::Run() {
  while (!ending_) {
    std::vector<pollfd> waited = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (Pair& pair : pairs_) {
        waited.push_back({pair.client.get(), POLLIN, 0});
        waited.push_back({pair.server.get(), POLLIN, 0});
      }
    }
    if (poll(waited.data(), waited.size(), -1) <= 0) continue;
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = waited.size() / 2; i-- > 1;) {
      Pair& pair = pairs_[i - 1];
      bool open = true;
      if (waited[2 * i].revents != 0) open = Relay(pair, true);
      if (open && waited[2 * i + 1].revents != 0) open = Relay(pair, false);
      if (!open) pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if (waited[0].revents != 0) Accept();
  }
}

}  // namespace dunlin::testing
