#pragma once

#include "absl/status/status.h"
#include "common/base/unique_fd.h"

namespace dunlin {

// Wakes an epoll set at a steady period. A timeout at each epoll_wait would do the same, but sets
// the processor's timer anew for each request, which costs a virtual machine more than the request.
// Belongs to one thread.
class WakeTimer {
 public:
  absl::Status Open();

  // Readable when it is time.
  int fd() const { return timer_.get(); }
  // To be called then; without it there is no next time.
  void Take();

  // From now on each `milliseconds`. Costs nothing if that is so already. REQUIRES: Open was OK.
  void Every(int milliseconds);

 private:
  UniqueFd timer_;
  int period_ = 0;
};

}  // namespace dunlin
