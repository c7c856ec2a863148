#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "server/options.h"

namespace dunlin {

// The Unix socket that clients connect to. A lock file beside it (PATH.lock, which stays) makes
// sure that a path has one server: a socket file that a dead server left is replaced, a live
// server's is an error. The socket file is removed with the object.
class Listener {
 public:
  // Bound, not yet listening. Errors name the path and the remedy. REQUIRES: CheckOptions is OK.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const ServerOptions& options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // From here on clients can connect. Sets owner and mode first.
  absl::Status Listen();
  // No new connections; the socket file is removed.
  void Close();

  int fd() const { return fd_.get(); }  // non-blocking
  const std::string& path() const { return path_; }

 private:
  Listener() = default;
  absl::Status TakeLock();
  absl::Status ClearPath() const;

  std::string path_;
  std::string owner_;
  uint32_t mode_ = 0;
  bool bound_ = false;
  UniqueFd lock_;
  UniqueFd fd_;
};

}  // namespace dunlin
