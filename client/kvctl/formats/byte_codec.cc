#include "client/kvctl/formats/byte_codec.h"

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/utf8.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr char kBase64Alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr int HexDigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::array<int8_t, 256> MakeBase64Values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 64; ++i) values[static_cast<unsigned char>(kBase64Alphabet[i])] = i;
  return values;
}
constexpr std::array<int8_t, 256> kBase64Values = MakeBase64Values();

absl::Status BadCharacter(std::string_view expected, std::string_view text, size_t at) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", ToAbsl(expected), ", found '",
                                                 EncodePrintable(text.substr(at, 1)), "' at byte ",
                                                 at + 1));
}

void AppendHexEscape(unsigned char byte, std::string* out) {
  *out += "\\x";
  out->push_back(kHexDigits[byte >> 4]);
  out->push_back(kHexDigits[byte & 15]);
}

// C0, DEL or C1. `character` is one well-formed UTF-8 sequence.
bool IsControl(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return character.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

// Whether `byte` has an escape of one letter, which it then appends.
bool AppendShortEscape(char byte, std::string* out) {
  switch (byte) {
    case '\t':
      *out += "\\t";
      return true;
    case '\n':
      *out += "\\n";
      return true;
    case '\r':
      *out += "\\r";
      return true;
    case '\0':
      *out += "\\0";
      return true;
    case '\\':
      *out += "\\\\";
      return true;
    default:
      return false;
  }
}

// The four characters of a full group, or the last ones, whose padding has been removed.
absl::Status DecodeGroup(std::string_view text, size_t at, size_t length, std::string* out) {
  uint32_t bits = 0;
  for (size_t i = 0; i < length; ++i) {
    const int value = kBase64Values[static_cast<unsigned char>(text[at + i])];
    if (value < 0) return BadCharacter("a base64 character", text, at + i);
    bits = bits << 6 | static_cast<uint32_t>(value);
  }
  bits <<= 6 * (4 - length);
  const size_t bytes = length - 1;
  if ((bits & ((uint32_t{1} << (8 * (3 - bytes))) - 1)) != 0) {
    return absl::InvalidArgumentError("the unused bits at the end of the base64 text are not zero");
  }
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(bits >> (16 - 8 * i)));
  return absl::OkStatus();
}

}  // namespace

std::string EncodeHex(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 15]);
  }
  return out;
}

absl::StatusOr<std::string> DecodeHex(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigitValue(text[i]);
    if (high < 0) return BadCharacter("a hexadecimal digit", text, i);
    if (i + 1 == text.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected an even number of hexadecimal digits, found ", text.size()));
    }
    const int low = HexDigitValue(text[i + 1]);
    if (low < 0) return BadCharacter("a hexadecimal digit", text, i + 1);
    out.push_back(static_cast<char>(high << 4 | low));
  }
  return out;
}

std::string EncodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      out.push_back(i <= group.size() ? kBase64Alphabet[bits >> (18 - 6 * i) & 63] : '=');
    }
  }
  return out;
}

absl::StatusOr<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected base64 text in groups of four characters, found ", text.size(), " characters"));
  }
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    size_t length = 4;
    if (at + 4 == text.size() && text[at + 3] == '=') length = text[at + 2] == '=' ? 2 : 3;
    DUNLIN_RETURN_IF_ERROR(DecodeGroup(text, at, length, &out));
  }
  return out;
}

std::string EncodeEscapes(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (const char c : bytes) {
    if (!AppendShortEscape(c, &out)) out.push_back(c);
  }
  return out;
}

absl::StatusOr<std::string> DecodeEscapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (true) {
    const size_t backslash = text.find('\\', at);
    out.append(text.substr(at, backslash - at));
    if (backslash == std::string_view::npos) return out;
    const char letter = backslash + 1 < text.size() ? text[backslash + 1] : '\0';
    at = backslash + 2;
    switch (letter) {
      case 't':
        out.push_back('\t');
        continue;
      case 'n':
        out.push_back('\n');
        continue;
      case 'r':
        out.push_back('\r');
        continue;
      case '0':
        out.push_back('\0');
        continue;
      case '\\':
        out.push_back('\\');
        continue;
      default:
        break;
    }
    const int high = at < text.size() ? HexDigitValue(text[at]) : -1;
    const int low = at + 1 < text.size() ? HexDigitValue(text[at + 1]) : -1;
    if (letter != 'x' || high < 0 || low < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected one of \\t \\n \\r \\0 \\\\ \\xHH, found '",
                       EncodePrintable(text.substr(backslash, 4)), "' at byte ", backslash + 1));
    }
    out.push_back(static_cast<char>(high << 4 | low));
    at += 2;
  }
}

std::string EncodeBytes(Encoding encoding, std::string_view bytes) {
  switch (encoding) {
    case Encoding::kHex:
      return EncodeHex(bytes);
    case Encoding::kBase64:
      return EncodeBase64(bytes);
    case Encoding::kText:
      break;
  }
  return EncodeEscapes(bytes);
}

absl::StatusOr<std::string> DecodeBytes(Encoding encoding, std::string_view text) {
  switch (encoding) {
    case Encoding::kHex:
      return DecodeHex(text);
    case Encoding::kBase64:
      return DecodeBase64(text);
    case Encoding::kText:
      break;
  }
  return DecodeEscapes(text);
}

std::string EncodePrintable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t valid = Utf8SequenceLength(bytes);
    const std::string_view character = bytes.substr(0, valid == 0 ? 1 : valid);
    bytes.remove_prefix(character.size());
    if (AppendShortEscape(character[0], &out)) continue;
    if (valid == 0 || IsControl(character)) {
      for (const char c : character) AppendHexEscape(static_cast<unsigned char>(c), &out);
    } else {
      out.append(character);
    }
  }
  return out;
}

}  // namespace dunlin::kvctl
