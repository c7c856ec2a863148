#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "bench/kvbench/binding.h"
#include "bench/kvbench/bindings/endpoint.h"

// The two ways to memcached.

namespace dunlin::kvbench {

struct MemcachedSettings {
  Endpoint server;
  int64_t timeout_ms = 0;
  bool library = false;
  bool binary = false;  // the library's protocol
};

// Through libmemcached. More than one read of a call are one multi-get; updates wait one for the
// other.
absl::StatusOr<std::unique_ptr<BindingSession>> OpenLibmemcached(const MemcachedSettings& settings);

// The meta protocol on a socket. All requests of a call are sent at once.
absl::StatusOr<std::unique_ptr<BindingSession>> OpenDirect(const MemcachedSettings& settings);

}  // namespace dunlin::kvbench
