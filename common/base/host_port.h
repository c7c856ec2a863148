#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dunlin {

// An address to listen at or to connect to: a name or number of a host, and a port.
struct HostPort {
  std::string host;  // without brackets
  std::string port;  // decimal, at most 65535
};

// "host:port", "10.0.0.1:7471", "[fe80::1%eth0]:7471". InvalidArgument says what was found instead.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text);

// As ParseHostPort reads it.
std::string FormatHostPort(const HostPort& address);

}  // namespace dunlin
