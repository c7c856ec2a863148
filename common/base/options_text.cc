// Values of options from and to text, and the texts of --help and --print-config.

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/base/check.h"
#include "common/base/config_text.h"
#include "common/base/options.h"
#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin {
namespace {

constexpr size_t kHelpWidth = 80;
constexpr size_t kHelpIndent = 8;

absl::Status Invalid(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

absl::StatusOr<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"true", "on", "yes"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "off", "no"}) {
    if (text == no) return false;
  }
  return Invalid("'" + EscapeText(text) + "' is not a switch; expected true or false");
}

absl::StatusOr<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Invalid("'" + EscapeText(text) + "' is not a whole number");
  }
  return value;
}

std::string Join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

// Greedy, with `indent` spaces before each line.
std::string Wrap(std::string_view text, size_t indent) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column == 0 || column + 1 + word.size() > kHelpWidth) {
      if (column != 0) out += '\n';
      out.append(indent, ' ').append(word);
      column = indent + word.size();
    } else {
      out.append(" ").append(word);
      column += 1 + word.size();
    }
  }
  return out + '\n';
}

}  // namespace

absl::StatusOr<OptionSet::Value> OptionSet::ParseValue(const Option& option,
                                                       std::string_view text) {
  const auto out_of_range = [&] {
    return Invalid("'" + EscapeText(text) + "' is out of range; expected " + LimitsText(option));
  };
  switch (option.type) {
    case Type::kString:
      if (HasControlCharacter(text)) {
        return Invalid("'" + EscapeText(text) + "' has control characters; expected none");
      }
      return std::string(text);
    case Type::kBool: {
      DUNLIN_ASSIGN_OR_RETURN(const bool value, ParseBool(text));
      return value;
    }
    case Type::kInt:
    case Type::kDuration: {
      DUNLIN_ASSIGN_OR_RETURN(const int64_t value,
                              option.type == Type::kInt ? ParseInt(text) : ParseDuration(text));
      if (value < option.int_range.min || value > option.int_range.max) return out_of_range();
      return value;
    }
    case Type::kSize: {
      DUNLIN_ASSIGN_OR_RETURN(const uint64_t value, ParseSize(text));
      if (value < option.size_range.min || value > option.size_range.max) return out_of_range();
      return value;
    }
    case Type::kEnum: {
      const auto found = std::find(option.choices.begin(), option.choices.end(), text);
      if (found == option.choices.end()) {
        return Invalid("'" + EscapeText(text) + "' is not a choice; expected " +
                       Join(option.choices, " or "));
      }
      return static_cast<uint64_t>(found - option.choices.begin());
    }
  }
  DUNLIN_UNREACHABLE();
}

std::string OptionSet::FormatValue(const Option& option, const Value& value) {
  switch (option.type) {
    case Type::kString:
      return std::get<std::string>(value);
    case Type::kBool:
      return std::get<bool>(value) ? "true" : "false";
    case Type::kInt:
      return std::to_string(std::get<int64_t>(value));
    case Type::kSize:
      return FormatSize(std::get<uint64_t>(value));
    case Type::kDuration:
      return FormatDuration(std::get<int64_t>(value));
    case Type::kEnum:
      return option.choices[std::get<uint64_t>(value)];
  }
  DUNLIN_UNREACHABLE();
}

std::string OptionSet::Placeholder(const Option& option) {
  switch (option.type) {
    case Type::kString:
      return "TEXT";
    case Type::kBool:
      return "";
    case Type::kInt:
      return "NUMBER";
    case Type::kSize:
      return "SIZE";
    case Type::kDuration:
      return "DURATION";
    case Type::kEnum:
      return Join(option.choices, "|");
  }
  DUNLIN_UNREACHABLE();
}

// "at least 1", "at most 5", "1 to 5", or nothing where every value is in range.
std::string OptionSet::LimitsText(const Option& option) {
  const bool is_size = option.type == Type::kSize;
  const bool is_duration = option.type == Type::kDuration;
  if (!is_size && !is_duration && option.type != Type::kInt) return "";
  const int64_t unbounded_min = is_duration ? 0 : std::numeric_limits<int64_t>::min();
  const bool has_min =
      is_size ? option.size_range.min != SizeRange().min : option.int_range.min != unbounded_min;
  const bool has_max =
      is_size ? option.size_range.max != SizeRange().max : option.int_range.max != IntRange().max;
  const std::string min =
      FormatValue(option, is_size ? Value(option.size_range.min) : Value(option.int_range.min));
  const std::string max =
      FormatValue(option, is_size ? Value(option.size_range.max) : Value(option.int_range.max));
  if (has_min && has_max) return min + " to " + max;
  if (has_min) return "at least " + min;
  if (has_max) return "at most " + max;
  return "";
}

std::string OptionSet::PrintConfig() const {
  size_t width = 0;
  std::vector<std::string> lines;
  for (const Option& option : options_) {
    lines.push_back(option.name + " = " + FormatConfigValue(FormatValue(option, option.value)));
    width = std::max(width, lines.back().size());
  }
  std::string text = config_note_;
  for (size_t i = 0; i < lines.size(); ++i) {
    text += lines[i] + std::string(width - lines[i].size() + 3, ' ');
    text += (options_[i].origin == "default" ? "# " : "# from ") + options_[i].origin + "\n";
  }
  return text;
}

std::string OptionSet::Help() const {
  std::string text = "Usage: " + program_ + " [--option value]...\n\n" + Wrap(summary_, 0) + "\n";
  text += Wrap(
      "Each option can also be given in the environment, as DUNLIN_ and its name in capitals with "
      "underscores, or in a file of lines 'name = value'. Flags beat the environment, which beats "
      "the file.",
      0);
  text += "\nOptions:\n";
  for (const Option& option : options_) {
    const std::string placeholder = Placeholder(option);
    text += "  --" + option.name + (placeholder.empty() ? "" : " " + placeholder) + "\n";
    const std::string shown = FormatConfigValue(FormatValue(option, option.default_value));
    const std::string limits = LimitsText(option);
    text += Wrap(option.help + " (" + (limits.empty() ? "" : limits + "; ") + "default " +
                     (shown.empty() ? "empty" : shown) + ")",
                 kHelpIndent);
  }
  text += "  --config FILE\n" + Wrap("read options from FILE", kHelpIndent);
  text += "  --print-config\n" +
          Wrap("print every value and where it comes from, and end", kHelpIndent);
  text += "  --version\n" + Wrap("print the version and end", kHelpIndent);
  text += "  --help\n" + Wrap("print this text and end", kHelpIndent);
  return text;
}

}  // namespace dunlin
