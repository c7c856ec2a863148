#include "dunlin/client.h"

#include <errno.h>  // program_invocation_short_name

#include <utility>
#include <vector>

#include "client/connect/server_client.h"
#include "client/connect/target.h"
#include "common/base/status.h"

namespace dunlin {

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(std::string_view target,
                                                        const ClientOptions& options) {
  DUNLIN_ASSIGN_OR_RETURN(std::vector<Target> targets, ParseTargets(target));
  ClientOptions completed = options;
  if (completed.name.empty()) completed.name = program_invocation_short_name;
  return ServerClient::Connect(targets, std::move(completed));
}

}  // namespace dunlin
