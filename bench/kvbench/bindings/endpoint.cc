#include "bench/kvbench/bindings/endpoint.h"

#include <charconv>

namespace dunlin::kvbench {

std::string Endpoint::Kind() const { return socket.empty() ? "tcp " + host : "unix socket"; }

std::string Endpoint::Name() const {
  return socket.empty() ? host + ":" + std::to_string(port) : socket;
}

uint64_t WholeNumber(double value) {
  constexpr double kMost = 1e18;
  if (!(value > 0)) return 0;
  return static_cast<uint64_t>(value < kMost ? value : kMost);
}

absl::StatusOr<uint16_t> ParsePort(const std::string& text, const std::string& name) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return absl::InvalidArgumentError(name + ": expected a port (1 to 65535), found '" + text +
                                      "'");
  }
  return port;
}

}  // namespace dunlin::kvbench
