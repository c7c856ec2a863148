#include "client/kvctl/formats/byte_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr size_t kSinkBuffer = size_t{64} << 10;

// Not ErrnoToStatus: a full disk must not look like a store that is out of memory, nor a missing
// file like a missing key.
absl::Status IoError(std::string_view what, const std::string& name, int error) {
  return absl::InternalError(absl::StrCat(ToAbsl(what), " ", name, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<size_t> FdSource::Read(std::span<char> buffer) {
  while (true) {
    const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
    if (n >= 0) return static_cast<size_t>(n);
    if (errno == EINTR) continue;
    const int error = errno;
    return IoError("cannot read", name_, error);
  }
}

absl::Status FdSink::Write(std::string_view bytes) {
  if (bytes.size() >= kSinkBuffer) {
    DUNLIN_RETURN_IF_ERROR(Flush());
    return WriteThrough(bytes);
  }
  buffer_.append(bytes);
  return buffer_.size() >= kSinkBuffer ? Flush() : absl::OkStatus();
}

absl::Status FdSink::Flush() {
  absl::Status status = WriteThrough(buffer_);
  buffer_.clear();
  return status;
}

absl::Status FdSink::WriteThrough(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      return IoError("cannot write", name_, error);
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> StringSource::Read(std::span<char> buffer) {
  const size_t n = std::min({rest_.size(), buffer.size(), chunk_});
  std::copy_n(rest_.data(), n, buffer.data());
  rest_.remove_prefix(n);
  return n;
}

absl::Status StringSink::Write(std::string_view bytes) {
  bytes_.append(bytes);
  return absl::OkStatus();
}

}  // namespace dunlin::kvctl
