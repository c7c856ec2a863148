#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::testing {

// redis-server or memcached in a temporary folder, on a Unix socket there or on a loopback port of
// its own. Killed when this is destroyed.
class PeerServer {
 public:
  enum class Kind : uint8_t { kRedis, kMemcached };

  // Returns once it accepts connections. NotFound if it isn't installed.
  static absl::StatusOr<std::unique_ptr<PeerServer>> Start(Kind kind, bool on_tcp);
  ~PeerServer() { Kill(); }
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  const std::string& socket() const { return socket_; }  // empty: on TCP
  uint16_t port() const { return port_; }

  // kill -9, and waits until it is gone.
  void Kill();
  // Starts again after Kill, at the same place.
  absl::Status Restart();

 private:
  PeerServer() = default;
  std::vector<std::string> CommandLine() const;
  bool Accepts() const;

  Kind kind_ = Kind::kRedis;
  const TemporaryFolder folder_;
  std::string socket_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace dunlin::testing
