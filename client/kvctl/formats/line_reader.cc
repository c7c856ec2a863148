#include "client/kvctl/formats/line_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr size_t kPiece = size_t{64} << 10;

}  // namespace

LineReader::LineReader(ByteSource& source, size_t max_line)
    : source_(source), max_line_(max_line) {}

absl::StatusOr<bool> LineReader::Next(std::string_view* line) {
  size_t searched = 0;
  while (true) {
    const char* start = buffer_.data() + begin_;
    const size_t unread = end_ - begin_;
    const void* newline =
        unread > searched ? std::memchr(start + searched, '\n', unread - searched) : nullptr;
    if (newline != nullptr || (at_end_ && unread > 0)) {
      terminated_ = newline != nullptr;
      const size_t length = terminated_ ? static_cast<const char*>(newline) - start : unread;
      ++line_number_;
      begin_ += length + (terminated_ ? 1 : 0);
      if (length > max_line_) return TooLong();
      *line = std::string_view(start, length);
      return true;
    }
    if (at_end_) return false;
    if (unread > max_line_) {
      ++line_number_;
      DUNLIN_RETURN_IF_ERROR(SkipLongLine());
      return TooLong();
    }
    searched = unread;
    DUNLIN_RETURN_IF_ERROR(Fill());
  }
}

absl::Status LineReader::TooLong() const {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line_number_, " is longer than the limit of ", max_line_, " bytes"));
}

absl::StatusOr<bool> LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kPiece) buffer_.resize(std::max(2 * buffer_.size(), end_ + kPiece));
  DUNLIN_ASSIGN_OR_RETURN(const size_t n,
                          source_.Read({buffer_.data() + end_, buffer_.size() - end_}));
  at_end_ = n == 0;
  end_ += n;
  return !at_end_;
}

absl::Status LineReader::SkipLongLine() {
  while (true) {
    const char* start = buffer_.data() + begin_;
    if (const void* newline = std::memchr(start, '\n', end_ - begin_)) {
      begin_ += static_cast<const char*>(newline) - start + 1;
      terminated_ = true;
      return absl::OkStatus();
    }
    begin_ = end_;
    DUNLIN_ASSIGN_OR_RETURN(const bool filled, Fill());
    if (!filled) {
      terminated_ = false;
      return absl::OkStatus();
    }
  }
}

}  // namespace dunlin::kvctl
