#include "common/base/options.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/config_text.h"
#include "common/base/read_file.h"
#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin {
namespace {

constexpr std::string_view kPrefix = "DUNLIN_";
constexpr std::string_view kBuiltIn[] = {"config", "help", "print-config", "version"};
constexpr size_t kMaxConfigBytes = size_t{1} << 20;

std::string VariableOf(std::string_view name) {
  std::string variable(kPrefix);
  for (const char c : name) {
    variable += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return variable;
}

absl::Status Invalid(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

bool IsOptionName(std::string_view name) {
  return !name.empty() && name.front() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

}  // namespace

OptionSet::OptionSet(std::string program, std::string summary)
    : program_(std::move(program)), summary_(std::move(summary)) {}

OptionSet::Option& OptionSet::Declare(std::string_view name, Type type, std::string_view help) {
  DUNLIN_CHECK(IsOptionName(name), "an option's name is of a-z, 0-9 and '-'");
  DUNLIN_CHECK(std::find(std::begin(kBuiltIn), std::end(kBuiltIn), name) == std::end(kBuiltIn),
               "the name is taken by a flag of every program");
  DUNLIN_CHECK(!Find(name), "the option is declared twice");
  Option& option = options_.emplace_back();
  option.name = name;
  option.type = type;
  option.help = help;
  return option;
}

void OptionSet::AddString(std::string_view name, std::string* target, std::string_view help) {
  DUNLIN_CHECK(!HasControlCharacter(*target));
  Option& option = Declare(name, Type::kString, help);
  option.target = target;
  option.value = option.default_value = *target;
}

void OptionSet::AddBool(std::string_view name, bool* target, std::string_view help) {
  Option& option = Declare(name, Type::kBool, help);
  option.target = target;
  option.value = option.default_value = *target;
}

void OptionSet::AddInt(std::string_view name, int64_t* target, std::string_view help,
                       IntRange range) {
  DUNLIN_CHECK(range.min <= *target && *target <= range.max, "the default is out of range");
  Option& option = Declare(name, Type::kInt, help);
  option.target = target;
  option.int_range = range;
  option.value = option.default_value = *target;
}

void OptionSet::AddSize(std::string_view name, uint64_t* bytes, std::string_view help,
                        SizeRange range) {
  DUNLIN_CHECK(range.min <= *bytes && *bytes <= range.max, "the default is out of range");
  Option& option = Declare(name, Type::kSize, help);
  option.target = bytes;
  option.size_range = range;
  option.value = option.default_value = *bytes;
}

void OptionSet::AddDuration(std::string_view name, int64_t* nanos, std::string_view help,
                            DurationRange range) {
  DUNLIN_CHECK_GE(range.min, 0);
  DUNLIN_CHECK(range.min <= *nanos && *nanos <= range.max, "the default is out of range");
  Option& option = Declare(name, Type::kDuration, help);
  option.target = nanos;
  option.int_range = {range.min, range.max};
  option.value = option.default_value = *nanos;
}

void OptionSet::AddEnum(std::string_view name, size_t* index, std::vector<std::string> choices,
                        std::string_view help) {
  static_assert(std::is_same_v<size_t, uint64_t>);
  DUNLIN_CHECK_LT(*index, choices.size());
  Option& option = Declare(name, Type::kEnum, help);
  option.target = index;
  option.choices = std::move(choices);
  option.value = option.default_value = *index;
}

void OptionSet::IgnoreEnvironment(std::string_view variable) {
  ignored_variables_.emplace_back(variable);
}

std::optional<size_t> OptionSet::Find(std::string_view name) const {
  for (size_t i = 0; i < options_.size(); ++i) {
    if (options_[i].name == name) return i;
  }
  return std::nullopt;
}

// `prefix` is how names are written in this place: "--", "DUNLIN_" or nothing.
absl::Status OptionSet::Unknown(std::string_view name, std::string_view prefix,
                                std::string_view origin) const {
  const bool is_variable = prefix == kPrefix;
  std::vector<std::string> spelled;
  for (const Option& option : options_) {
    spelled.push_back(is_variable ? VariableOf(option.name).substr(kPrefix.size()) : option.name);
  }
  if (is_variable) spelled.emplace_back("CONFIG");
  if (prefix == "--") spelled.insert(spelled.end(), std::begin(kBuiltIn), std::end(kBuiltIn));
  const std::vector<std::string_view> candidates(spelled.begin(), spelled.end());
  std::string message(origin);
  message += ": unknown option";
  const std::vector<std::string_view> near = NearMatches(name, candidates);
  for (size_t i = 0; i < near.size(); ++i) {
    message += i == 0 ? "; did you mean " : " or ";
    message.append(prefix).append(near[i]);
  }
  message += near.empty() ? "; --help lists all options" : "?";
  return Invalid(message);
}

absl::Status OptionSet::Assign(size_t index, std::string_view text, std::string origin,
                               Layer& layer) const {
  absl::StatusOr<Value> value = ParseValue(options_[index], text);
  if (!value.ok()) return WithContext(value.status(), origin);
  const auto found = layer.find(index);
  if (found != layer.end()) {
    return Invalid(origin + ": '" + options_[index].name + "' is already set by " +
                   found->second.origin + "; remove one of the two");
  }
  layer.emplace(index, Assignment{*std::move(value), std::move(origin)});
  return absl::OkStatus();
}

// Takes one flag, with its value, off the front of `arguments`.
absl::Status OptionSet::ReadFlag(std::span<const char* const>& arguments, Flags& flags) const {
  const std::string_view argument = arguments.front();
  arguments = arguments.subspan(1);
  if (!argument.starts_with("--") || argument.size() == 2) {
    return Invalid("unexpected argument '" + EscapeText(argument) +
                   "'; options are written --name value, a switch --name or --name=false");
  }
  const size_t equals = argument.find('=');
  const std::string_view name = argument.substr(2, equals - 2);
  const std::string origin = "flag --" + EscapeText(name);
  std::optional<std::string_view> value;
  if (equals != std::string_view::npos) value = argument.substr(equals + 1);

  if (name == "print-config") {
    if (value) return Invalid(origin + " takes no value");
    flags.action = Action::kPrintConfig;
    return absl::OkStatus();
  }
  const std::optional<size_t> index = Find(name);
  if (!index && name != "config") return Unknown(name, "--", origin);
  if (!value && index && options_[*index].type == Type::kBool) value = "true";
  if (!value) {
    if (arguments.empty()) return Invalid(origin + ": the value is missing");
    value = arguments.front();
    arguments = arguments.subspan(1);
  }
  if (index) return Assign(*index, *value, origin, flags.layer);
  if (flags.config_file) return Invalid(origin + " is given twice");
  flags.config_file = *value;
  return absl::OkStatus();
}

absl::StatusOr<OptionSet::Flags> OptionSet::ReadFlags(
    std::span<const char* const> arguments) const {
  Flags flags;
  // First, so that help can be had whatever else is wrong.
  for (const std::string_view argument : arguments) {
    if (argument == "--help" || argument == "-h") flags.action = Action::kHelp;
    if (argument == "--version" && flags.action == Action::kRun) flags.action = Action::kVersion;
  }
  if (flags.action != Action::kRun) return flags;
  while (!arguments.empty()) DUNLIN_RETURN_IF_ERROR(ReadFlag(arguments, flags));
  return flags;
}

absl::StatusOr<OptionSet::Environment> OptionSet::ReadEnvironment(
    std::span<const char* const> environment) const {
  Environment result;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with(kPrefix)) continue;
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view variable = entry.substr(0, equals);
    const std::string_view value = entry.substr(std::min(equals + 1, entry.size()));
    if (variable == "DUNLIN_CONFIG") {
      result.config_file = value;
      continue;
    }
    const auto option = std::find_if(options_.begin(), options_.end(), [&](const Option& each) {
      return VariableOf(each.name) == variable;
    });
    const std::string origin = "environment " + EscapeText(variable);
    if (option != options_.end()) {
      const auto index = static_cast<size_t>(option - options_.begin());
      DUNLIN_RETURN_IF_ERROR(Assign(index, value, origin, result.layer));
    } else if (std::find(ignored_variables_.begin(), ignored_variables_.end(), variable) ==
               ignored_variables_.end()) {
      return Unknown(variable.substr(kPrefix.size()), kPrefix, origin);
    }
  }
  return result;
}

absl::StatusOr<OptionSet::Layer> OptionSet::ReadFile(const std::string& path,
                                                     std::string_view asked_by) const {
  const absl::StatusOr<std::string> text = ReadWholeFile(path, kMaxConfigBytes);
  if (!text.ok()) return WithContext(text.status(), asked_by);
  DUNLIN_ASSIGN_OR_RETURN(const std::vector<ConfigEntry> entries,
                          ParseConfigText(*text, "file " + EscapeText(path)));
  Layer layer;
  for (const ConfigEntry& entry : entries) {
    const std::string origin = "file " + EscapeText(path) + ":" + std::to_string(entry.line);
    const std::optional<size_t> index = Find(entry.name);
    if (!index) return Unknown(entry.name, "", origin + ": '" + entry.name + "'");
    DUNLIN_RETURN_IF_ERROR(Assign(*index, entry.value, origin, layer));
  }
  return layer;
}

void OptionSet::Apply(Layer& layer) {
  for (auto& [index, assignment] : layer) {
    options_[index].value = std::move(assignment.value);
    options_[index].origin = std::move(assignment.origin);
  }
}

absl::StatusOr<OptionSet::Action> OptionSet::Read(std::span<const char* const> arguments,
                                                  std::span<const char* const> environment) {
  DUNLIN_ASSIGN_OR_RETURN(Flags flags, ReadFlags(arguments));
  if (flags.action == Action::kHelp || flags.action == Action::kVersion) return flags.action;
  DUNLIN_ASSIGN_OR_RETURN(Environment variables, ReadEnvironment(environment));
  Layer file_layer;
  if (flags.config_file || variables.config_file) {
    const std::string asked_by = flags.config_file ? "flag --config" : "environment DUNLIN_CONFIG";
    const std::string path = flags.config_file ? *flags.config_file : *variables.config_file;
    DUNLIN_ASSIGN_OR_RETURN(file_layer, ReadFile(path, asked_by));
    config_note_ = "# configuration file " + EscapeText(path) + ", from " + asked_by + "\n";
  }
  Apply(file_layer);
  Apply(variables.layer);
  Apply(flags.layer);
  for (Option& option : options_) {
    std::visit(
        [&option](auto* target) {
          *target = std::get<std::remove_pointer_t<decltype(target)>>(option.value);
        },
        option.target);
  }
  return flags.action;
}

std::string_view OptionSet::OriginOf(std::string_view name) const {
  const std::optional<size_t> index = Find(name);
  DUNLIN_CHECK(index.has_value(), "no such option");
  return options_[*index].origin;
}

}  // namespace dunlin
