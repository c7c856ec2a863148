#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/kvctl/doctor/raw_probe.h"
#include "common/base/clock.h"
#include "dunlin/client.h"

namespace dunlin::kvctl {

// What the store does on a path: 64-byte values for latency, large ones for bandwidth.
struct StorePathResult {
  std::string release;
  Latency ping;  // to the server's process
  // Of one look at the clock, which is in every latency here: 40 ns, or 10 us where it is a system
  // call, as in some virtual machines.
  uint64_t clock_nanos = 0;
  std::optional<Latency> get_known, get_cold, put_known;
  std::optional<Bandwidth> get_bandwidth, put_bandwidth;
  absl::Status store;    // why gets and puts were not measured, or not all
  absl::Status cleanup;  // why the doctor's own keys may still be there; they expire in any case
};

// Pings, then puts and gets keys of its own, which it removes. Ends each measurement after some
// thousand operations or some 100 ms. Errors: those of Ping; what befalls gets and puts (read-only
// sessions, memory full) is in the result.
absl::StatusOr<StorePathResult> MeasureStore(Client& client, Milliseconds timeout,
                                             const Clock& clock);

}  // namespace dunlin::kvctl
