#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/fabric/verbs/atomic_domain.h"

namespace dunlin {

// How a server serves its region over verbs.
struct VerbsEndpointOptions {
  std::string address;     // to listen on, a name or a number; empty: all, through every adapter
  std::string port = "0";  // 0: the system chooses
  std::span<std::byte> region;  // whole pages; outlives the endpoint
  // kAuto and kNic need to know which other sessions there are.
  AtomicDomainRequest domain = AtomicDomainRequest::kAuto;
  bool shared_memory_sessions = false;
  bool tcp_sessions = false;
  Logger* log = nullptr;         // outlives the endpoint; required
  const Clock* clock = nullptr;  // the same

  uint32_t max_peers = 4096;
  // How long a peer may take from its request until the connection stands.
  std::chrono::milliseconds handshake_time{5000};
  // As in VerbsOptions.
  uint8_t ack_timeout = 14;
  uint32_t receive_depth = 32;
  uint32_t message_bytes = 4096;
  uint32_t staging_bytes = 64u << 10;  // for what is being sent to one peer: a power of two
  uint64_t max_mr_bytes = 0;           // the device's limit holds, too; 0: that alone
};

}  // namespace dunlin
