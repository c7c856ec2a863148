#include "dunlin/client.h"

#include <errno.h>  // program_invocation_short_name

#include <utility>

#include "client/connect/shm_client.h"
#include "client/connect/target.h"
#include "common/base/status.h"

namespace dunlin {

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(std::string_view target,
                                                        const ClientOptions& options) {
  DUNLIN_ASSIGN_OR_RETURN(std::string path, SocketPathOf(target));
  ClientOptions completed = options;
  if (completed.name.empty()) completed.name = program_invocation_short_name;
  return ShmClient::Connect(std::move(path), std::move(completed));
}

}  // namespace dunlin
