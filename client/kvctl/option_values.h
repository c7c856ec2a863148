#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/kvctl/context.h"
#include "client/kvctl/formats/record_stream.h"
#include "client/kvctl/output/progress.h"
#include "common/base/status.h"
#include "dunlin/types.h"

// What options may be set to, and how that is read.

namespace dunlin::kvctl {

using Choices = std::vector<std::string>;

inline const Choices kOutputs = {"table", "json"};
inline const Choices kEncodings = {"text", "hex", "base64"};
inline const Choices kFormats = {"json", "lines", "debian-index"};
inline const Choices kProgress = {"auto", "always", "never"};

// The position of `text` in `choices`, which has been checked to hold it, as an enum.
template <typename Enum>
Enum Chosen(const Choices& choices, const std::string& text) {
  return static_cast<Enum>(std::find(choices.begin(), choices.end(), text) - choices.begin());
}
static_assert(static_cast<int>(OutputFormat::kJson) == 1);
static_assert(static_cast<int>(Encoding::kHex) == 1 && static_cast<int>(Encoding::kBase64) == 2);
static_assert(static_cast<int>(Format::kKeyValueLines) == 1 &&
              static_cast<int>(Format::kDebianIndex) == 2);
static_assert(static_cast<int>(ProgressMode::kAlways) == 1 &&
              static_cast<int>(ProgressMode::kNever) == 2);

// Decimal only: CLI11 would take "010" for 8.
template <typename T>
absl::Status ParseInteger(std::string_view option, std::string_view text, T least, T most,
                          T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size() && *value >= least &&
      *value <= most) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(option), " is \"", ToAbsl(text),
                                                 "\", expected a whole number from ", least, " to ",
                                                 most));
}

absl::Status ParseMilliseconds(std::string_view option, std::string_view text, Milliseconds* value);

inline constexpr char kProgressHelp[] =
    "On standard error: a bar on a terminal, else (always) a line every 5 s";

}  // namespace dunlin::kvctl
