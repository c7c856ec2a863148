#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/kvctl/formats/record.h"

namespace dunlin::kvctl {

// RFC 4648, section 8. Encodes in lower case, decodes either case. An odd number of digits or any
// other character is kInvalidArgument, with its position.
std::string EncodeHex(std::string_view bytes);
absl::StatusOr<std::string> DecodeHex(std::string_view text);

// RFC 4648, section 4: the standard alphabet with padding. Decoding accepts exactly what encoding
// produces: padding must be there and unused bits must be zero, so that no two texts mean the
// same bytes.
std::string EncodeBase64(std::string_view bytes);
absl::StatusOr<std::string> DecodeBase64(std::string_view text);

// Backslash escapes for the text encoding of one field of a line:
//   \t TAB   \n newline   \r carriage return   \0 NUL   \\ backslash   \xHH the byte HH
// Encoding writes the first five and leaves every other byte as it is, valid UTF-8 or not.
// Decoding also accepts \xHH; any other escape is kInvalidArgument, with its position.
// DecodeEscapes(EncodeEscapes(b)) == b for all byte strings b.
std::string EncodeEscapes(std::string_view bytes);
absl::StatusOr<std::string> DecodeEscapes(std::string_view text);

// One of the three above; kText means escapes.
std::string EncodeBytes(Encoding encoding, std::string_view bytes);
absl::StatusOr<std::string> DecodeBytes(Encoding encoding, std::string_view text);

// For people and terminals: EncodeEscapes, and \xHH for every other control character (C0, DEL,
// C1) and every byte that is not part of valid UTF-8. Reversible by DecodeEscapes.
std::string EncodePrintable(std::string_view bytes);

}  // namespace dunlin::kvctl
