#include "client/kvctl/formats/json_scanner.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/byte_codec.h"
#include "client/kvctl/formats/utf8.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Stands for itself inside a string, and needs no look at its neighbours.
bool IsPlainAscii(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

}  // namespace

void JsonScanner::SkipSpace() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos) {
    ++at_;
  }
}

size_t JsonScanner::NextColumn() {
  SkipSpace();
  return at_ + 1;
}

absl::Status JsonScanner::Unexpected(std::string_view expected) const {
  const std::string found = at_ == text_.size()
                                ? "the end"
                                : absl::StrCat("'", EncodePrintable(text_.substr(at_, 1)), "'");
  return absl::InvalidArgumentError(
      absl::StrCat("column ", at_ + 1, ": expected ", ToAbsl(expected), ", found ", found));
}

bool JsonScanner::Accept(char token) {
  SkipSpace();
  if (at_ == text_.size() || text_[at_] != token) return false;
  ++at_;
  return true;
}

absl::Status JsonScanner::Expect(char token) {
  if (Accept(token)) return absl::OkStatus();
  return Unexpected(std::string{'\'', token, '\''});
}

absl::Status JsonScanner::ExpectEnd() {
  SkipSpace();
  return at_ == text_.size() ? absl::OkStatus() : Unexpected("the end of the line");
}

absl::StatusOr<uint64_t> JsonScanner::TakeUnsigned() {
  SkipSpace();
  size_t end = at_;
  while (end < text_.size() && IsDigit(text_[end])) ++end;
  if (end == at_) return Unexpected("a number without a sign");
  uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text_.data() + at_, text_.data() + end, value);
  if (error != std::errc()) return Unexpected("a number below 2^64");
  if (text_[at_] == '0' && end > at_ + 1) return Unexpected("a number without leading zeros");
  at_ = end;
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) {
    return Unexpected("a whole number");
  }
  return value;
}

absl::Status JsonScanner::TakeString(std::string* out) {
  out->clear();
  if (!Accept('"')) return Unexpected("a string");
  while (true) {
    size_t end = at_;
    while (end < text_.size() && IsPlainAscii(text_[end])) ++end;
    out->append(text_.substr(at_, end - at_));
    at_ = end;
    if (at_ == text_.size()) return Unexpected("'\"' at the end of a string");
    if (text_[at_] == '"') {
      ++at_;
      return absl::OkStatus();
    }
    if (text_[at_] == '\\') {
      DUNLIN_RETURN_IF_ERROR(TakeEscape(out));
      continue;
    }
    if (static_cast<unsigned char>(text_[at_]) < 0x20) {
      return Unexpected("an escape for a control character");
    }
    const size_t length = Utf8SequenceLength(text_.substr(at_));
    if (length == 0) return Unexpected("UTF-8 (use base64 or hex for other bytes)");
    out->append(text_.substr(at_, length));
    at_ += length;
  }
}

absl::Status JsonScanner::TakeEscape(std::string* out) {
  ++at_;
  const char letter = at_ < text_.size() ? text_[at_] : '\0';
  char byte = '\0';
  switch (letter) {
    case '"':
      byte = '"';
      break;
    case '\\':
      byte = '\\';
      break;
    case '/':
      byte = '/';
      break;
    case 'b':
      byte = '\b';
      break;
    case 'f':
      byte = '\f';
      break;
    case 'n':
      byte = '\n';
      break;
    case 'r':
      byte = '\r';
      break;
    case 't':
      byte = '\t';
      break;
    case 'u':
      ++at_;
      return TakeUnicodeEscape(out);
    default:
      return Unexpected("one of \" \\ / b f n r t u after a backslash");
  }
  ++at_;
  out->push_back(byte);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> JsonScanner::TakeFourDigits() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    uint32_t digit = 0;
    if (IsDigit(c)) {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A' + 10);
    } else {
      return Unexpected("four hexadecimal digits after \\u");
    }
    value = value << 4 | digit;
  }
  return value;
}

absl::Status JsonScanner::TakeUnicodeEscape(std::string* out) {
  DUNLIN_ASSIGN_OR_RETURN(uint32_t code_point, TakeFourDigits());
  if (code_point >= 0xDC00 && code_point <= 0xDFFF) {
    return Unexpected("a high surrogate before the low one just read");
  }
  if (code_point >= 0xD800 && code_point <= 0xDBFF) {
    if (text_.substr(at_, 2) != "\\u") return Unexpected("\\u and a low surrogate");
    at_ += 2;
    DUNLIN_ASSIGN_OR_RETURN(const uint32_t low, TakeFourDigits());
    if (low < 0xDC00 || low > 0xDFFF) {
      return Unexpected("a low surrogate after the high one just read");
    }
    code_point = 0x10000 + ((code_point - 0xD800) << 10) + (low - 0xDC00);
  }
  AppendUtf8(code_point, out);
  return absl::OkStatus();
}

}  // namespace dunlin::kvctl
