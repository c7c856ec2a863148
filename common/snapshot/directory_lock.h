#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace dunlin {

// Held by the one process that writes to a snapshot directory; gone with the process, however it
// ends.
class DirectoryLock {
 public:
  // Locks the file `path`, which is created if there is none. FailedPrecondition: somebody has it;
  // the message says who, as far as the file does.
  static absl::StatusOr<DirectoryLock> Take(const std::string& path);

  // Whether the file at `path` is the one that is locked: the directory, or the file, may have been
  // replaced, and then somebody else may hold the other one.
  bool Is(const std::string& path) const;

 private:
  explicit DirectoryLock(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace dunlin
