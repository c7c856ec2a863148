#include "common/base/config_text.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin {
namespace {

constexpr std::string_view kSpaces = " \t\r";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

bool IsSpace(char c) { return kSpaces.find(c) != std::string_view::npos; }

// Where a comment starts, or the end of the text.
size_t CommentStart(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || IsSpace(text[i - 1]))) return i;
  }
  return text.size();
}

absl::Status LineError(std::string_view file, int line, std::string_view problem) {
  std::string message(file);
  message.append(":").append(std::to_string(line)).append(": ").append(problem);
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

bool IsName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// `text` starts behind the opening quote. Puts what follows the closing quote into `rest`; false
// if there is none or an escape is unknown.
bool ReadQuoted(std::string_view text, std::string& value, std::string_view& rest) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      rest = text.substr(i + 1);
      return true;
    }
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || (text[i] != '"' && text[i] != '\\')) return false;
    }
    value += text[i];
  }
  return false;
}

absl::StatusOr<ConfigEntry> ParseEntry(std::string_view line, std::string_view file, int number) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return LineError(file, number,
                     "expected 'name = value', found '" + EscapeText(Trim(line)) + "'");
  }
  ConfigEntry entry{std::string(Trim(line.substr(0, equals))), {}, number};
  if (!IsName(entry.name)) {
    return LineError(
        file, number,
        "expected a name of a-z, 0-9 and '-' before '=', found '" + EscapeText(entry.name) + "'");
  }
  std::string_view value = line.substr(equals + 1);
  value.remove_prefix(std::min(value.find_first_not_of(kSpaces), value.size()));
  if (value.starts_with('"')) {
    std::string_view rest;
    if (!ReadQuoted(value.substr(1), entry.value, rest)) {
      return LineError(file, number,
                       "the quoted value of '" + entry.name +
                           "' isn't closed, or has a '\\' before other than '\"' or '\\'");
    }
    if (!Trim(rest.substr(0, CommentStart(rest))).empty()) {
      return LineError(file, number,
                       "unexpected text '" + EscapeText(Trim(rest)) +
                           "' behind the quoted value of '" + entry.name + "'");
    }
  } else {
    entry.value = Trim(value.substr(0, CommentStart(value)));
  }
  return entry;
}

}  // namespace

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(std::string_view text,
                                                         std::string_view file) {
  std::vector<ConfigEntry> entries;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool has_control = std::any_of(line.begin(), line.end(), [](char c) {
      return HasControlCharacter({&c, 1}) && !IsSpace(c);
    });
    if (has_control) {
      return LineError(file, number, "control character in '" + EscapeText(Trim(line)) + "'");
    }
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty() || trimmed.starts_with('#')) continue;
    DUNLIN_ASSIGN_OR_RETURN(ConfigEntry entry, ParseEntry(line, file, number));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string FormatConfigValue(std::string_view value) {
  DUNLIN_CHECK(!HasControlCharacter(value));
  const bool bare =
      value == Trim(value) && !value.starts_with('"') && CommentStart(value) == value.size();
  if (bare) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace dunlin
