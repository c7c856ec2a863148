#include "common/base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>
#include <system_error>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/base/unique_fd.h"

namespace dunlin {
namespace {

absl::Status SystemError(std::string_view what, const std::string& path, int error) {
  const auto code = error == ENOENT                     ? absl::StatusCode::kNotFound
                    : error == EACCES || error == EPERM ? absl::StatusCode::kPermissionDenied
                                                        : absl::StatusCode::kUnknown;
  std::string message = "cannot ";
  message.append(what).append(" '").append(EscapeText(path)).append("': ");
  return MakeStatus(code, message + std::generic_category().message(error));
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError("open", path, errno);
  std::string text;
  constexpr size_t kStep = size_t{64} << 10;
  size_t size = 0;
  while (true) {
    text.resize(size + kStep);
    const ssize_t count = ::read(fd.get(), text.data() + size, kStep);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("read", path, errno);
    size += static_cast<size_t>(count);
    if (size > limit) {
      return MakeStatus(absl::StatusCode::kOutOfRange, "'" + EscapeText(path) +
                                                           "' is larger than the limit of " +
                                                           FormatCount(limit) + " bytes");
    }
    if (count == 0) break;
  }
  text.resize(size);
  return text;
}

}  // namespace dunlin
