#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin {

// What is accepted, inclusive.
struct IntRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};
struct SizeRange {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();
};
struct DurationRange {  // nanoseconds
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
};

// The options of a program, each declared once under one name and read from four places:
//
//   flag         --memory 8GiB  or  --memory=8GiB      (a switch: --prefault or --prefault=false)
//   environment  DUNLIN_MEMORY=8GiB                    (dashes become underscores)
//   file         memory = 8GiB                         (see config_text.h; --config FILE names it)
//   default      what the target holds when the option is declared
//
// An earlier place beats a later one. Every value that is given is checked, also one that is
// beaten. Unknown names, duplicates within one place, malformed and out-of-range values are errors
// that name their origin. Reads nothing but what it is handed and the file, prints nothing, and
// never ends the process. Not thread safe.
//
//   ServerOptions options;
//   OptionSet set("dunlin-server", "Serves a region of memory.");
//   set.AddSize("memory", &options.memory, "memory to serve from", {.min = 64 << 20});
//   absl::StatusOr<OptionSet::Action> action = set.Read(arguments, environment);
class OptionSet {
 public:
  // What the command line asks the program to do.
  enum class Action { kRun, kHelp, kVersion, kPrintConfig };

  OptionSet(std::string program, std::string summary);

  // Each target holds the default now, and the value after a successful Read(); it must outlive
  // the set. Names are of a-z, 0-9 and '-', unique, and not one of the flags that every program
  // has: config, help, version, print-config. Violations are programming errors (CHECK).
  void AddString(std::string_view name, std::string* target, std::string_view help);
  void AddBool(std::string_view name, bool* target, std::string_view help);
  void AddInt(std::string_view name, int64_t* target, std::string_view help, IntRange range = {});
  void AddSize(std::string_view name, uint64_t* bytes, std::string_view help, SizeRange range = {});
  void AddDuration(std::string_view name, int64_t* nanos, std::string_view help,
                   DurationRange range = {});
  // The target is the index of the choice.
  void AddEnum(std::string_view name, size_t* index, std::vector<std::string> choices,
               std::string_view help);

  // A DUNLIN_ variable that belongs to another program and is no error here.
  void IgnoreEnvironment(std::string_view variable);

  // `arguments` are those behind the program's name; `environment` has NAME=VALUE entries, of
  // which those that don't start with DUNLIN_ are ignored. On an error no target is changed, and
  // the message is one line for the user. Call it once. When the action is kHelp or kVersion,
  // nothing is checked and the targets keep their defaults.
  absl::StatusOr<Action> Read(std::span<const char* const> arguments,
                              std::span<const char* const> environment);

  // For --print-config: a configuration file with each value in force and, as a comment, its
  // origin. Reading it back gives the same values.
  std::string PrintConfig() const;

  // For --help.
  std::string Help() const;

  // Where the value in force comes from: "default", "flag --memory", "environment DUNLIN_MEMORY"
  // or "file /etc/dunlin.conf:3". REQUIRES: the option exists.
  std::string_view OriginOf(std::string_view name) const;

 private:
  using Value = std::variant<std::string, bool, int64_t, uint64_t>;

  enum class Type { kString, kBool, kInt, kSize, kDuration, kEnum };

  struct Option {
    std::string name;
    Type type = Type::kString;
    std::string help;
    std::variant<std::string*, bool*, int64_t*, uint64_t*> target;
    IntRange int_range;    // kInt; kDuration
    SizeRange size_range;  // kSize
    std::vector<std::string> choices;
    Value default_value;
    Value value;
    std::string origin = "default";
  };

  struct Assignment {
    Value value;
    std::string origin;
  };
  // What one place assigns, by option index.
  using Layer = std::map<size_t, Assignment>;

  struct Flags {
    Action action = Action::kRun;
    std::optional<std::string> config_file;
    Layer layer;
  };
  struct Environment {
    std::optional<std::string> config_file;
    Layer layer;
  };

  Option& Declare(std::string_view name, Type type, std::string_view help);
  std::optional<size_t> Find(std::string_view name) const;
  absl::Status Unknown(std::string_view name, std::string_view prefix,
                       std::string_view origin) const;
  absl::Status Assign(size_t index, std::string_view text, std::string origin, Layer& layer) const;
  absl::Status ReadFlag(std::span<const char* const>& arguments, Flags& flags) const;
  absl::StatusOr<Flags> ReadFlags(std::span<const char* const> arguments) const;
  absl::StatusOr<Environment> ReadEnvironment(std::span<const char* const> environment) const;
  absl::StatusOr<Layer> ReadFile(const std::string& path, std::string_view asked_by) const;
  void Apply(Layer& layer);

  static absl::StatusOr<Value> ParseValue(const Option& option, std::string_view text);
  static std::string FormatValue(const Option& option, const Value& value);
  static std::string Placeholder(const Option& option);
  static std::string LimitsText(const Option& option);

  std::string program_;
  std::string summary_;
  std::vector<Option> options_;
  std::vector<std::string> ignored_variables_;
  std::string config_note_;
};

}  // namespace dunlin
