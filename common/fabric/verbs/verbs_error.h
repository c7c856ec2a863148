#pragma once

#include <infiniband/verbs.h>

#include <string_view>

#include "absl/status/status.h"

namespace dunlin {

// What a failed completion means: the operation, the peer, what the adapter says, and the remedy
// where there is one. `operation`: "READ of 128 bytes at 0x4000". REQUIRES: wc.status is not
// IBV_WC_SUCCESS.
absl::Status StatusOfCompletion(const ibv_wc& wc, std::string_view operation,
                                std::string_view peer);

// A completion that says only that the queue pair has already failed or is gone.
inline bool IsFlush(ibv_wc_status status) { return status == IBV_WC_WR_FLUSH_ERR; }

}  // namespace dunlin
