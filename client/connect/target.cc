#include "client/connect/target.h"

#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr std::string_view kShmScheme = "shm://";

}  // namespace

absl::StatusOr<std::string> SocketPathOf(std::string_view target) {
  if (target.starts_with(kShmScheme) && target.size() > kShmScheme.size()) {
    return std::string(target.substr(kShmScheme.size()));
  }
  return MakeStatus(absl::StatusCode::kInvalidArgument,
                    "target: expected shm:// and the path of a server's socket, such as "
                    "shm:///run/dunlin/dunlin.sock, found '" +
                        std::string(target) + "'");
}

}  // namespace dunlin
