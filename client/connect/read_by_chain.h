#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/base/deadline.h"
#include "common/fabric/fabric.h"

namespace dunlin {

// Reads the region's bytes from `offset` on: 1 RTT for each MiB. REQUIRES: no chain of another is
// in flight on the channel. Errors: DeadlineExceeded, after which the channel is broken (the READ
// may yet come), and what broke it.
absl::Status ReadByChain(Channel& channel, uint64_t offset, std::span<std::byte> to,
                         Deadline deadline);

}  // namespace dunlin
