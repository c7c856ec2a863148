#include "common/base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <utility>

namespace dunlin {
namespace {

// Three significant digits, as in "1.50", "15.0", "150".
std::string FormatThreeDigits(double value) {
  return FormatFixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

struct Scale {
  double factor;
  const char* suffix;
};

// The greatest scale that keeps the rounded number at 1 or more. `scales` descend.
std::string FormatScaled(double value, std::span<const Scale> scales) {
  for (const Scale& scale : scales) {
    if (value / scale.factor >= 0.9995)
      return FormatThreeDigits(value / scale.factor) + scale.suffix;
  }
  return FormatThreeDigits(value / scales.back().factor) + scales.back().suffix;
}

// The length of the valid UTF-8 sequence at the front of `text`, 0 if there is none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (length < 3) return length;
  // Overlong forms, surrogates and what lies above U+10FFFF.
  const unsigned char second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

void AppendHex(std::string& out, const char* prefix, unsigned value, int width) {
  std::array<char, 16> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%s%0*x", prefix, width, value);
  out += buffer.data();
}

void AppendJsonAscii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    AppendHex(out, "\\u", static_cast<unsigned char>(c), 4);
  } else {
    out += c;
  }
}

}  // namespace

std::string FormatFixed(double value, int decimals) {
  std::array<char, 400> buffer;  // a double has at most 309 digits before the point
  const int length =
      std::snprintf(buffer.data(), buffer.size(), "%.*f", std::clamp(decimals, 0, 17), value);
  return std::string(buffer.data(), static_cast<size_t>(length));
}

std::string FormatCount(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string FormatPercent(double fraction, int decimals) {
  return FormatFixed(fraction * 100, decimals) + " %";
}

std::string FormatRoundedSize(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr Scale kScales[] = {
      {0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}};
  return FormatScaled(static_cast<double>(bytes), kScales);
}

std::string FormatRoundedDuration(double nanos) {
  static constexpr Scale kScales[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}};
  return FormatScaled(nanos, kScales);
}

std::string FormatRate(double per_second) {
  static constexpr Scale kScales[] = {{1e9, " G/s"}, {1e6, " M/s"}, {1e3, " k/s"}, {1, " /s"}};
  return FormatScaled(per_second, kScales);
}

std::string EscapeText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      AppendHex(out, "\\x", static_cast<unsigned char>(c), 2);
    }
  }
  return out;
}

std::string EscapeJson(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 1) {
      AppendJsonAscii(out, text.front());
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::vector<std::string_view> NearMatches(std::string_view text,
                                          std::span<const std::string_view> candidates) {
  // Bounds the cost for hostile input: nothing that long is near to a name.
  constexpr size_t kLongestTypo = 64;
  constexpr size_t kMostMatches = 3;
  if (text.empty() || text.size() > kLongestTypo) return {};
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const std::string_view candidate : candidates) {
    const size_t distance = EditDistance(text, candidate);
    const bool one_extends_other = text.size() >= 3 && candidate.size() >= 3 &&
                                   (candidate.starts_with(text) || text.starts_with(candidate));
    if (distance <= std::max<size_t>(1, text.size() / 3) || one_extends_other) {
      near.emplace_back(distance, candidate);
    }
  }
  std::sort(near.begin(), near.end());
  if (near.size() > kMostMatches) near.resize(kMostMatches);
  std::vector<std::string_view> names;
  for (const auto& match : near) names.push_back(match.second);
  return names;
}

}  // namespace dunlin
