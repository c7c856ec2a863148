#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dunlin::kvctl {

// Length (1 to 4) of the well-formed UTF-8 sequence that `bytes` starts with; 0 if it starts with
// none: stray or missing continuation bytes, overlong forms, surrogates, above U+10FFFF, empty.
size_t Utf8SequenceLength(std::string_view bytes);

// Position of the first byte that is not well-formed UTF-8; npos if there is none.
size_t FindInvalidUtf8(std::string_view bytes);

// Appends the UTF-8 form. REQUIRES: code_point <= 0x10FFFF and not a surrogate.
void AppendUtf8(uint32_t code_point, std::string* out);

}  // namespace dunlin::kvctl
