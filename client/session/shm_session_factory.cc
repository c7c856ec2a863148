#include <utility>

#include "client/session/session_impl.h"
#include "client/session/shm_session.h"
#include "common/base/status.h"
#include "common/fabric/shm/shm_channel.h"

namespace dunlin {

absl::StatusOr<std::unique_ptr<Session>> MakeShmSession(ShmSessionParts parts,
                                                        const SessionOptions& options) {
  auto channel =
      std::make_unique<ShmChannel>(parts.region->base(), parts.region->size(), parts.read_only);
  auto session = std::make_unique<SessionImpl>(std::move(parts), std::move(channel), options);
  DUNLIN_RETURN_IF_ERROR(session->FetchDirectory());
  return session;
}

}  // namespace dunlin
