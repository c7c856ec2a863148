#include "common/base/host_port.h"

#include "common/base/status.h"

namespace dunlin {
namespace {

bool IsPort(std::string_view port) {
  if (port.empty() || port.size() > 5) return false;
  uint32_t value = 0;
  for (char c : port) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value <= 65'535;
}

absl::Status Malformed(std::string_view text) {
  return MakeStatus(absl::StatusCode::kInvalidArgument,
                    "expected an address such as host:7471, 10.0.0.1:7471 or [::1]:7471, found '" +
                        std::string(text) + "'");
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Malformed(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool plain = host.find_first_of("[]/ ") == std::string_view::npos;
  const bool colons = host.find(':') != std::string_view::npos;
  if (host.empty() || !plain || colons != bracketed || !IsPort(port)) return Malformed(text);
  if (host.find('\0') != std::string_view::npos) return Malformed(text);
  return HostPort{std::string(host), std::string(port)};
}

std::string FormatHostPort(const HostPort& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + address.port;
}

}  // namespace dunlin
