#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dunlin {

// How much memory this process may pin, as registering with an adapter does.
struct MemoryLock {
  bool unlimited = false;  // no limit is set, or the process has CAP_IPC_LOCK
  uint64_t limit_bytes = 0;
  uint64_t locked_bytes = 0;  // already
};

// `status`: the text of /proc/self/status, whose lines CapEff, VmLck and VmPin count.
MemoryLock ParseMemoryLock(std::string_view status, uint64_t limit_bytes, bool limit_is_infinite);
// This process's.
MemoryLock ReadMemoryLock();

// FailedPrecondition, with the remedy, if `bytes` more can't be pinned.
absl::Status CheckMemoryLock(const MemoryLock& lock, uint64_t bytes);

// One sentence that tells an administrator what to do.
std::string MemoryLockRemedy();

}  // namespace dunlin
