#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/unique_fd.h"

namespace dunlin::testing {

// A TCP relay in front of a server, on a loopback port of its own, that cuts a connection where a
// test wants it cut. One thread; ends with the object.
class CuttingProxy {
 public:
  // `port`: the server's, on 127.0.0.1.
  explicit CuttingProxy(const std::string& port);
  ~CuttingProxy();

  std::string target() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

  // Cuts all connections, after so many more bytes went to the server. To the client nothing goes
  // any more once they did. Connections made later are not touched.
  void CutAfter(uint64_t bytes_to_server);
  // Takes bytes, but passes none on until told otherwise: a network that has fallen silent.
  void Silence(bool silent) { silent_ = silent; }
  bool cut() const { return left_ < 0; }

 private:
  struct Pair {
    UniqueFd client;
    UniqueFd server;
    bool limited = false;
  };
  void Run();
  void Accept();
  bool Relay(Pair& pair, bool to_server);

  std::string server_port_;
  uint16_t port_ = 0;
  UniqueFd listener_;
  UniqueFd wake_;
  std::mutex mutex_;
  std::vector<Pair> pairs_;  // guarded by mutex_
  std::atomic<int64_t> left_{INT64_MAX};
  std::atomic<bool> silent_{false};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace dunlin::testing
