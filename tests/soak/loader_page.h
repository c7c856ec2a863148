#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/unique_fd.h"

namespace dunlin::testing {

// What a loader process and who started it both map. Plain counters, written by the loader alone.
struct LoaderPage {
  std::atomic<uint32_t> stop;
  std::atomic<uint64_t> gets, puts, removes;
  std::atomic<uint64_t> hits, evicted, expired;
  std::atomic<uint64_t> refused;  // writes: memory or index full
  std::atomic<uint64_t> errors;   // others that say nothing was changed
  std::atomic<uint64_t> unknown;
  std::atomic<uint64_t> waves;
  std::atomic<uint64_t> most_records;
  // How long after its latest end a record was still found, and before its earliest one was not.
  std::atomic<int64_t> found_late_nanos, gone_early_nanos;
  std::atomic<uint64_t> violations;
  char message[400];  // about the first violation
};

// Maps the page that `fd` (a memfd) holds; nullptr on failure. Never unmapped.
LoaderPage* MapLoaderPage(int fd);

}  // namespace dunlin::testing
