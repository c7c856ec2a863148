#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// The text of a configuration file:
//
//   file    = *( line LF )
//   line    = [ name "=" value ] [ comment ]
//   name    = 1*( "a".."z" / "0".."9" / "-" )
//   value   = bare / quoted
//   bare    = bytes without '"' at the front; ends before a comment, white space at its ends is cut
//   quoted  = '"' any bytes, with '\"' for '"' and '\\' for '\' '"'
//   comment = "#" at the start of a line or after white space, to the end of the line
//
// White space (space, tab, CR) is free around names, values and "=". No control characters
// otherwise.

namespace dunlin {

struct ConfigEntry {
  std::string name;
  std::string value;
  int line;  // from 1
};

// The entries in order. An error names `file` and the line; duplicates and unknown names are for
// the caller to find.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfigText(std::string_view text,
                                                         std::string_view file);

// The value as ParseConfigText reads it back: quoted where it has to be.
// REQUIRES: no control characters in `value`.
std::string FormatConfigValue(std::string_view value);

bool HasControlCharacter(std::string_view text);

}  // namespace dunlin
