#pragma once

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvbench {

// Ctrl-C (SIGINT) and SIGTERM as something to wait for: the first ends a run in good order, the
// next one the process. Blocks both in the thread that makes it and in those that it starts later.
class Interrupts {
 public:
  static absl::StatusOr<Interrupts> Make();

  // Readable once there was one; for poll(2).
  int fd() const { return fd_.get(); }
  // Takes it, and lets the next one end the process. False: there was none.
  bool Take();
  bool taken() const { return taken_; }

 private:
  explicit Interrupts(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  bool taken_ = false;
};

}  // namespace dunlin::kvbench
