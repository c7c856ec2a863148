#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Text for people: rounded numbers and printable renderings. Not meant to be parsed again
// (size_text.h is).

namespace dunlin {

std::string FormatFixed(double value, int decimals);           // (1234.567, 1) -> "1234.6"
std::string FormatCount(uint64_t value);                       // 1234567 -> "1,234,567"
std::string FormatPercent(double fraction, int decimals = 1);  // 0.1234 -> "12.3 %"
std::string FormatRoundedSize(uint64_t bytes);                 // 1610612736 -> "1.50 GiB"
std::string FormatRoundedDuration(double nanos);               // 1234567 -> "1.23 ms"
std::string FormatRate(double per_second);                     // 1234567 -> "1.23 M/s"

// Printable ASCII as it is, '\\' doubled, every other byte as \xhh.
std::string EscapeText(std::string_view text);

// The contents of a JSON string literal, without its quotes. Bytes that aren't valid UTF-8 become
// U+FFFD, since JSON can't carry them.
std::string EscapeJson(std::string_view text);

// Insertions, deletions and substitutions that turn one text into the other.
size_t EditDistance(std::string_view a, std::string_view b);

// Those of `candidates` that a person who typed `text` may have meant, nearest first, at most
// three.
std::vector<std::string_view> NearMatches(std::string_view text,
                                          std::span<const std::string_view> candidates);

}  // namespace dunlin
