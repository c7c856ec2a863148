#pragma once

#include <cstdint>
#include <string>

namespace dunlin {

// How a client's connections over verbs behave. The defaults are meant to be left alone.
struct VerbsOptions {
  std::string source_address;  // of the client's adapter; empty: the route decides
  // The session that this one takes the place of, or 0: so that the server can fence it first.
  uint32_t replaces_session = 0;
  uint64_t replaces_token = 0;

  // How long the adapter waits for an acknowledgement, 4.096 us x 2^n, before it sends again, and
  // how often it does. Together they say how soon a silent peer is noticed; the transport's own
  // default (19) is seconds a try. Not for iWARP, where TCP decides.
  uint8_t ack_timeout = 14;
  uint8_t retry_count = 6;
  int traffic_class = -1;  // of the packets; -1: the system's

  uint32_t chains = 64;               // that may be in flight at once
  uint32_t max_inline = 256;          // bytes; the device may offer less
  uint32_t staging_bytes = 1u << 20;  // registered memory for what is under way: a power of two
  uint32_t receive_depth = 32;
  uint32_t message_bytes = 4096;
  // How often WaitFor looks at the completion queue before it blocks, where there is more than one
  // processor.
  uint32_t spin_polls = 2000;
};

}  // namespace dunlin
