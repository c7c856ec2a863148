#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/kvbench/properties.h"

namespace dunlin::kvbench {

// Where a server listens.
struct Endpoint {
  std::string socket;  // a Unix socket's path; empty: host and port
  std::string host;
  uint16_t port = 0;

  // "unix socket", "tcp 127.0.0.1": for Describe().
  std::string Kind() const;
  // With the path or port as well, for messages.
  std::string Name() const;
};

// InvalidArgument unless `text` is the decimal number of a port; `name` is the property it is from.
absl::StatusOr<uint16_t> ParsePort(const std::string& text, const std::string& name);

// Of what a server says of itself, which need not be a number that makes sense.
uint64_t WholeNumber(double value);

}  // namespace dunlin::kvbench
