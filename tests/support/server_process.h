#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::testing {

// Over what a test's clients reach its server.
struct TestFabric {
  std::string name = "shm";  // shm, tcp or rdma
  std::string address = {};  // of this machine, for tcp and rdma
};

// What the environment asks the tests of this program to use: TEST_FABRIC=shm (or unset),
// tcp, rxe or siw; for the last two RDMA_TEST_ADDRESSES says where they are ("rxe=10.1.0.1").
TestFabric FabricUnderTest();

// A dunlin-server of its own in a new temporary folder, on a Unix socket there and, if the fabric
// asks for it, on a port of its own. Killed, and the folder removed, when this is destroyed.
class ServerProcess {
 public:
  struct Options {
    std::string binary = {};  // the server's executable
    std::string memory = "256MiB";
    std::vector<std::string> more = {};  // further arguments
    TestFabric fabric = {};
  };
  // Returns once the server accepts connections, or with what it wrote to its log.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(const Options& options);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // For Client::Connect, over the fabric of the options.
  std::string target() const;
  const std::string& socket() const { return socket_; }
  const std::string& folder() const { return folder_.path(); }
  pid_t pid() const { return pid_; }
  std::string Log() const;

  // kill -9, and waits until it is gone.
  void Kill();
  // SIGTERM, and waits for its end; returns the exit code, -1 if it died by a signal.
  int Terminate();
  // Starts again after Kill or Terminate, on the same socket and port.
  absl::Status Restart();
  // Nanoseconds of CPU the process has used, user and system.
  int64_t CpuNanos() const;

 private:
  ServerProcess() = default;
  absl::Status Launch();
  absl::Status WaitReady();
  bool LearnPort();
  int Reap();

  Options options_;
  const TemporaryFolder folder_;
  std::string socket_;
  std::string port_ = "0";
  pid_t pid_ = -1;
};

}  // namespace dunlin::testing
