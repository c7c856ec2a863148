#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/kvctl/formats/byte_stream.h"

namespace dunlin::kvctl {

// Splits a stream at '\n' (and nothing else: a '\r' belongs to its line). Keeps one line and one
// read-ahead piece in memory. Not thread safe.
class LineReader {
 public:
  // `source` must outlive the reader. `max_line` is the longest line accepted, in bytes.
  LineReader(ByteSource& source, size_t max_line);

  // Stores the next line without its '\n' in *line, valid until the next call, and returns true;
  // returns false at the end. kInvalidArgument: the line was longer than max_line; it has been
  // skipped and the reader may go on. Any other error is final.
  absl::StatusOr<bool> Next(std::string_view* line);

  // Number of the line that Next last returned or refused, from 1.
  uint64_t line_number() const { return line_number_; }

  // Whether that line ended in '\n' rather than at the end of the stream.
  bool terminated() const { return terminated_; }

 private:
  absl::StatusOr<bool> Fill();
  absl::Status SkipLongLine();
  absl::Status TooLong() const;

  ByteSource& source_;
  const size_t max_line_;
  std::string buffer_;
  size_t begin_ = 0;  // unread bytes are buffer_[begin_, end_)
  size_t end_ = 0;
  bool at_end_ = false;
  uint64_t line_number_ = 0;
  bool terminated_ = false;
};

}  // namespace dunlin::kvctl
