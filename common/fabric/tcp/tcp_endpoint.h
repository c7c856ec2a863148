#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/fabric/endpoint.h"

namespace dunlin {

// Listens for sessions over TCP. The server executes their chains, so they need no memory keys, and
// one whose connection is closed can do nothing any more.
class TcpEndpoint final : public Endpoint {
 public:
  struct Options {
    std::string host;  // a name or address; IPv6 without brackets
    std::string port;  // "0": one that is free; name() tells which
    uint64_t region_bytes = 0;
    int silence_ms = 10'000;  // a peer not heard of for about so long is gone
  };
  // Errors: InvalidArgument (no such host), Unavailable (the address can't be had), with the
  // remedy.
  static absl::StatusOr<std::unique_ptr<TcpEndpoint>> Listen(const Options& options);
  ~TcpEndpoint() override;

  absl::Status WatchIn(int epoll, uint64_t data) override;
  void Progress(uint64_t number, uint32_t events,
                std::vector<std::unique_ptr<EndpointPeer>>& accepted,
                std::vector<Ready>& ready) override;
  // Peers are looked after by the kernel (keep-alive); takes up accepting after a shortage.
  void Probe() override;
  void StopAccepting() override { listener_.Reset(); }
  const std::string& name() const override { return name_; }

 private:
  class Peer;

  TcpEndpoint() = default;
  absl::Status Bind(const Options& options);
  bool WatchListener(int operation, bool watch);
  void Accept(std::vector<std::unique_ptr<EndpointPeer>>& accepted);

  Options options_;
  std::string name_;
  UniqueFd listener_;
  int epoll_ = -1;       // the server's
  uint64_t data_ = 0;    // of its events, beside the number
  bool paused_ = false;  // no descriptors were to be had: not accepting until the next Probe
  std::unordered_map<uint64_t, Peer*> peers_;  // by their number
  uint64_t next_ = 1;
};

}  // namespace dunlin
