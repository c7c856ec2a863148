#include "common/snapshot/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin {
namespace {

absl::Status Failed(const std::string& what, const std::string& path, int error) {
  return MakeStatus(
      error == ENOSPC ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable,
      what + " '" + path + "': " + std::strerror(error));
}

std::string Holder(int fd) {
  char text[300];
  const ssize_t bytes = pread(fd, text, sizeof text, 0);
  std::string_view line(text, bytes > 0 ? bytes : 0);
  line = line.substr(0, line.find('\n'));
  return line.empty() ? "another process" : EscapeText(line);
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Take(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return Failed("can't open the lock", path, errno);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failed("can't lock", path, errno);
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the snapshot directory is in use: " + Holder(fd.get()) + " holds '" + path +
                          "'; stop that server, or give this one a directory of its own");
  }
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "unknown");
  const std::string line = "pid " + std::to_string(getpid()) + " on host " + host + "\n";
  // For people only: a full disk must not keep a server from starting.
  if (ftruncate(fd.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(fd.get(), line.data(), line.size(), 0);
  }
  return DirectoryLock(std::move(fd));
}

bool DirectoryLock::Is(const std::string& path) const {
  struct stat ours {};
  struct stat there {};
  return fstat(fd_.get(), &ours) == 0 && stat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

}  // namespace dunlin
