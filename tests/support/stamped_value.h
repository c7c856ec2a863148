#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dunlin::testing {

// Values that say what they are: a number, who it was put for and whether all of it is there.

inline constexpr size_t kStampBytes = 25;

// `bytes` long (at least kStampBytes), a function of its arguments; never a decimal integer.
std::string StampedValue(std::string_view key, uint64_t number, size_t bytes);

// The number; nothing if a single bit differs from what was made for that key.
std::optional<uint64_t> StampOf(std::string_view key, std::string_view value);

}  // namespace dunlin::testing
