#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin::kvctl {

// Takes the tokens of JSON text (RFC 8259) one after the other; every call first skips white
// space. Strict: well-formed UTF-8, no raw control characters in strings, surrogates in pairs.
// Errors are kInvalidArgument with the column (a byte position, from 1). Not thread safe.
class JsonScanner {
 public:
  // `text` must outlive the scanner.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Takes `token` if it comes next.
  bool Accept(char token);

  // Takes `token` or fails.
  absl::Status Expect(char token);

  // Takes a string and stores the UTF-8 that it stands for.
  absl::Status TakeString(std::string* out);

  // Takes an integer from 0 to 2^64 - 1, written without sign, fraction or exponent.
  absl::StatusOr<uint64_t> TakeUnsigned();

  // Fails unless nothing but white space is left.
  absl::Status ExpectEnd();

  // Column of the next token.
  size_t NextColumn();

 private:
  void SkipSpace();
  absl::Status TakeEscape(std::string* out);
  absl::Status TakeUnicodeEscape(std::string* out);
  absl::StatusOr<uint32_t> TakeFourDigits();
  absl::Status Unexpected(std::string_view expected) const;

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace dunlin::kvctl
