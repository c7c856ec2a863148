#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/kvctl/context.h"

namespace dunlin::kvctl {

struct Latency {
  uint64_t operations = 0;
  uint64_t median_nanos = 0, p99_nanos = 0;
};

struct Bandwidth {
  uint64_t bytes_each = 0;  // of one operation
  double bytes_per_second = 0;
};

// What a path does for single verbs of 64 bytes (a compare-and-swap: of a word) one at a time, and
// for large ones, without the store's protocol around them.
struct RawPathResult {
  std::optional<Latency> read, write, compare_swap;
  std::optional<Bandwidth> read_bandwidth, write_bandwidth;
  // Why large verbs don't get through, though small ones do.
  absl::Status large;
};

// Measures single verbs on the path to a server.
class RawProbe {
 public:
  virtual ~RawProbe() = default;

  // Takes about a second. Errors: those of opening a session that may write, ResourceExhausted (the
  // server has no memory to try on), what broke the connection.
  virtual absl::StatusOr<RawPathResult> Measure(std::string_view target, Milliseconds timeout,
                                                const Clock& clock) = 0;
};

}  // namespace dunlin::kvctl
