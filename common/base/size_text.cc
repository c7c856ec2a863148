#include "common/base/size_text.h"

#include <charconv>
#include <limits>
#include <span>

#include "common/base/check.h"
#include "common/base/status.h"

namespace dunlin {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Ascending; Format takes the greatest that divides.
constexpr Unit kSizeUnits[] = {
    {"B", 1},
    {"KiB", uint64_t{1} << 10},
    {"MiB", uint64_t{1} << 20},
    {"GiB", uint64_t{1} << 30},
    {"TiB", uint64_t{1} << 40},
};
constexpr Unit kDurationUnits[] = {
    {"ns", 1},
    {"us", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
};

struct Grammar {
  std::string_view what;
  std::string_view accepted;
  std::span<const Unit> units;
  uint64_t limit;
};

constexpr Grammar kSizeGrammar{
    "size", "a whole number with no unit (bytes) or with B, KiB, MiB, GiB or TiB, as in 8GiB",
    kSizeUnits, std::numeric_limits<uint64_t>::max()};
constexpr Grammar kDurationGrammar{"duration",
                                   "a whole number with ns, us, ms, s, m or h, as in 100ms",
                                   kDurationUnits, uint64_t{std::numeric_limits<int64_t>::max()}};

absl::Status Malformed(const Grammar& grammar, std::string_view text, std::string_view reason) {
  std::string message = "'";
  message.append(text).append("' is not a ").append(grammar.what);
  message.append(reason).append("; expected ").append(grammar.accepted);
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

const Unit* FindUnit(const Grammar& grammar, std::string_view name) {
  for (const Unit& unit : grammar.units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

absl::StatusOr<uint64_t> Parse(const Grammar& grammar, std::string_view text,
                               std::string_view default_unit) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) return Malformed(grammar, text, " (too large)");
  if (error != std::errc()) return Malformed(grammar, text, "");
  std::string_view name = text.substr(static_cast<size_t>(end - text.data()));
  if (name.empty()) name = number == 0 ? grammar.units.front().name : default_unit;
  const Unit* unit = FindUnit(grammar, name);
  if (unit == nullptr) {
    return Malformed(grammar, text, name.empty() ? " (no unit)" : " (unknown unit)");
  }
  if (number > grammar.limit / unit->factor) return Malformed(grammar, text, " (too large)");
  return number * unit->factor;
}

std::string Format(const Grammar& grammar, uint64_t value) {
  const Unit* best = &grammar.units.front();
  for (const Unit& unit : grammar.units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  std::string text = std::to_string(value / best->factor);
  text.append(best->name);
  return text;
}

}  // namespace

absl::StatusOr<uint64_t> ParseSize(std::string_view text) { return Parse(kSizeGrammar, text, "B"); }

std::string FormatSize(uint64_t bytes) { return Format(kSizeGrammar, bytes); }

absl::StatusOr<int64_t> ParseDuration(std::string_view text) {
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t nanos, Parse(kDurationGrammar, text, ""));
  return static_cast<int64_t>(nanos);
}

std::string FormatDuration(int64_t nanos) {
  DUNLIN_CHECK_GE(nanos, 0);
  return Format(kDurationGrammar, static_cast<uint64_t>(nanos));
}

}  // namespace dunlin
