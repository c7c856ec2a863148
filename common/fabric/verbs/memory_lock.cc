#include "common/fabric/verbs/memory_lock.h"

#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <iterator>

#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr int kCapIpcLock = 14;

// The number behind `name` at the start of a line; 0 if there is none.
uint64_t NumberAfter(std::string_view text, std::string_view name, int base) {
  size_t at = text.starts_with(name) ? 0 : text.find("\n" + std::string(name));
  if (at == std::string_view::npos) return 0;
  at = text.find_first_not_of(" \t", text.find(name, at) + name.size());
  uint64_t number = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at, text.data() + text.size(), number, base);
  }
  return number;
}

}  // namespace

MemoryLock ParseMemoryLock(std::string_view status, uint64_t limit_bytes, bool limit_is_infinite) {
  MemoryLock lock;
  const uint64_t capabilities = NumberAfter(status, "CapEff:", 16);
  lock.unlimited = limit_is_infinite || (capabilities >> kCapIpcLock & 1) != 0;
  lock.limit_bytes = limit_bytes;
  lock.locked_bytes =
      (NumberAfter(status, "VmLck:", 10) + NumberAfter(status, "VmPin:", 10)) * 1024;
  return lock;
}

MemoryLock ReadMemoryLock() {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
  std::ifstream file("/proc/self/status");
  const std::string status{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ParseMemoryLock(status, limit.rlim_cur, !known || limit.rlim_cur == RLIM_INFINITY);
}

absl::Status CheckMemoryLock(const MemoryLock& lock, uint64_t bytes) {
  if (lock.unlimited) return absl::OkStatus();
  if (bytes <= lock.limit_bytes && lock.locked_bytes <= lock.limit_bytes - bytes) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "RDMA needs " + std::to_string(bytes) +
                        " bytes of locked memory; the limit is " +
                        std::to_string(lock.limit_bytes) + ", of which " +
                        std::to_string(lock.locked_bytes) + " are taken. " + MemoryLockRemedy());
}

std::string MemoryLockRemedy() {
  return "Raise the limit of locked memory: LimitMEMLOCK=infinity in the systemd unit, 'memlock "
         "unlimited' in /etc/security/limits.conf, --ulimit memlock=-1 for a container, or ulimit "
         "-l unlimited in the shell";
}

}  // namespace dunlin
