#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

// Sizes and durations as people write them in options. Strict: digits and one unit, no sign, no
// fraction, no space; an error says what is accepted. Each Format gives the shortest exact text,
// which Parse reads back.

namespace dunlin {

// "512" or "512B" (bytes), "4KiB", "64MiB", "8GiB", "2TiB".
absl::StatusOr<uint64_t> ParseSize(std::string_view text);
std::string FormatSize(uint64_t bytes);

// "250ns", "10us", "100ms", "1s", "2m", "3h", or "0". The result is in nanoseconds, >= 0.
absl::StatusOr<int64_t> ParseDuration(std::string_view text);
// REQUIRES: nanos >= 0.
std::string FormatDuration(int64_t nanos);

}  // namespace dunlin
