#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

// Views of the same memory as bytes or as text. No copies: the result lives as long as the
// argument.

namespace dunlin {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline MutableBytes AsMutableBytes(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

}  // namespace dunlin
