#include "bench/kvbench/properties.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

#include "common/base/read_file.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr size_t kMaxFileBytes = 16u << 20;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

absl::Status Wrong(std::string_view name, std::string_view found, std::string_view expected) {
  std::string message = "property " + std::string(name) + ": expected " + std::string(expected) +
                        ", found \"" + std::string(found) + "\"";
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

std::string_view Trimmed(std::string_view text) {
  const auto drop = [](char c) { return IsBlank(c) || IsLineEnd(c); };
  while (!text.empty() && drop(text.front())) text.remove_prefix(1);
  while (!text.empty() && drop(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next logical line off `text`: lines joined whose last character is an unescaped
// backslash, without leading blanks; comments and blank lines left out. Unset at the end.
std::optional<std::string> TakeLogicalLine(std::string_view& text) {
  std::string line;
  bool continued = false;
  while (!text.empty()) {
    while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
    size_t length = 0;
    while (length < text.size() && !IsLineEnd(text[length])) ++length;
    const std::string_view natural = text.substr(0, length);
    text.remove_prefix(length);
    if (text.starts_with("\r\n")) {
      text.remove_prefix(2);
    } else if (!text.empty()) {
      text.remove_prefix(1);
    }
    if (!continued && (natural.empty() || natural[0] == '#' || natural[0] == '!')) continue;
    const size_t last = natural.find_last_not_of('\\');
    const size_t slashes = natural.size() - (last == std::string_view::npos ? 0 : last + 1);
    continued = slashes % 2 == 1;
    line += natural.substr(0, natural.size() - (continued ? 1 : 0));
    if (!continued) return line;
  }
  if (line.empty()) return std::nullopt;
  return line;
}

void AppendUtf8(uint32_t code, std::string& to) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | code >> 6);
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0 | code >> 12);
    to += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    to += static_cast<char>(0xf0 | code >> 18);
    to += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    to += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The UTF-16 unit of the \uXXXX that `text` starts with.
std::optional<uint32_t> TakeUnit(std::string_view& text) {
  if (!text.starts_with("\\u") || text.size() < 6) return std::nullopt;
  uint32_t unit = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  text.remove_prefix(6);
  return unit;
}

bool AppendUnicode(std::string_view& text, std::string& to) {
  const std::optional<uint32_t> first = TakeUnit(text);
  if (!first) return false;
  uint32_t code = *first;
  if (code >= 0xd800 && code < 0xdc00) {
    std::string_view behind = text;
    const std::optional<uint32_t> second = TakeUnit(behind);
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      text = behind;
      code = 0x10000 + ((code - 0xd800) << 10) + (*second - 0xdc00);
    }
  }
  AppendUtf8(code, to);
  return true;
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (text[0] != '\\' || text.size() == 1) {
      if (text[0] != '\\') result += text[0];
      text.remove_prefix(1);
      continue;
    }
    if (text[1] == 'u') {
      if (!AppendUnicode(text, result)) return std::nullopt;
      continue;
    }
    constexpr std::string_view kLetters = "tnrf", kMeanings = "\t\n\r\f";
    const size_t letter = kLetters.find(text[1]);
    result += letter == std::string_view::npos ? text[1] : kMeanings[letter];
    text.remove_prefix(2);
  }
  return result;
}

// The line's name and value as they are written, still with their escapes.
std::pair<std::string_view, std::string_view> Split(std::string_view line) {
  size_t end = 0;
  for (bool escaped = false; end < line.size(); ++end) {
    const char c = line[end];
    if (!escaped && (c == '=' || c == ':' || IsBlank(c))) break;
    escaped = !escaped && c == '\\';
  }
  std::string_view value = line.substr(end);
  const auto skip_blanks = [&] {
    while (!value.empty() && IsBlank(value.front())) value.remove_prefix(1);
  };
  skip_blanks();
  if (!value.empty() && (value[0] == '=' || value[0] == ':')) {
    value.remove_prefix(1);
    skip_blanks();
  }
  return {line.substr(0, end), value};
}

}  // namespace

absl::Status Properties::AddText(std::string_view text, std::string_view name) {
  while (const std::optional<std::string> line = TakeLogicalLine(text)) {
    const auto [raw_name, raw_value] = Split(*line);
    const std::optional<std::string> key = Unescaped(raw_name);
    const std::optional<std::string> value = Unescaped(raw_value);
    if (!key || !value) {
      std::string message = std::string(name) + ": \"" + *line +
                            "\": expected four hexadecimal digits behind \\u (a backslash itself "
                            "is written \\\\)";
      return MakeStatus(absl::StatusCode::kInvalidArgument, message);
    }
    Set(*key, *value);
  }
  return absl::OkStatus();
}

absl::Status Properties::AddFile(const std::string& path) {
  DUNLIN_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxFileBytes));
  return AddText(text, path);
}

void Properties::Set(std::string_view name, std::string_view value) {
  all_.insert_or_assign(std::string(name), std::string(value));
}

bool Properties::Has(std::string_view name) const { return all_.find(name) != all_.end(); }

std::string Properties::Get(std::string_view name, std::string_view otherwise) const {
  const auto found = all_.find(name);
  return std::string(found == all_.end() ? otherwise : std::string_view(found->second));
}

absl::StatusOr<int64_t> Properties::GetInt(std::string_view name, int64_t otherwise) const {
  const auto found = all_.find(name);
  if (found == all_.end()) return otherwise;
  std::string_view text = Trimmed(found->second);
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return Wrong(name, found->second, "a whole number");
  }
  return value;
}

absl::StatusOr<double> Properties::GetDouble(std::string_view name, double otherwise) const {
  const auto found = all_.find(name);
  if (found == all_.end()) return otherwise;
  std::string_view text = Trimmed(found->second);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool finite = value - value == 0;
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !finite) {
    return Wrong(name, found->second, "a number");
  }
  return value;
}

absl::StatusOr<bool> Properties::GetBool(std::string_view name, bool otherwise) const {
  const auto found = all_.find(name);
  if (found == all_.end()) return otherwise;
  std::string text(Trimmed(found->second));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (text == "true") return true;
  if (text == "false") return false;
  return Wrong(name, found->second, "true or false");
}

}  // namespace dunlin::kvbench
