#include <utility>

#include "client/connect/opener.h"
#include "common/base/status.h"
#include "common/base/sync.h"
#include "common/fabric/shm/shm_channel.h"

namespace dunlin {
namespace {

// Sessions share one mapping of the region as long as the server is the same incarnation; after its
// restart new sessions map the new region, and the old ones keep the old one until they are gone.
class ShmOpener final : public Opener {
 public:
  ShmOpener(std::string socket_path, std::shared_ptr<ForkGuard> guard)
      : socket_path_(std::move(socket_path)), guard_(std::move(guard)) {}

  absl::StatusOr<std::unique_ptr<SessionParts>> OpenSession(const Request& request,
                                                            Deadline deadline) override {
    auto parts = std::make_unique<SessionParts>();
    parts->guard = guard_;
    DUNLIN_ASSIGN_OR_RETURN(parts->lane, Lane::Connect(socket_path_, deadline));
    DUNLIN_ASSIGN_OR_RETURN(
        const Lane::Welcome welcome,
        parts->lane->Hello({request.name, request.read_only, request.replaces,
                            request.replaces_token, request.replaces_incarnation},
                           deadline));
    if (!welcome.region.valid()) {
      return absl::FailedPreconditionError(
          "expected the descriptor of the region with the welcome, found none");
    }
    DUNLIN_ASSIGN_OR_RETURN(parts->region, RegionOf(welcome, request.read_only));
    parts->constants = parts->region->constants();
    parts->session_id = welcome.session_id;
    parts->session_word = welcome.session_word;
    parts->token = welcome.token;
    parts->read_only = request.read_only;
    if (welcome.session_word >= parts->constants.session_words) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "session word: expected one of " +
                            std::to_string(parts->constants.session_words) + ", found " +
                            std::to_string(welcome.session_word));
    }
    parts->channel = std::make_unique<ShmChannel>(parts->region->base(), parts->region->size(),
                                                  request.read_only);
    return parts;
  }

  absl::StatusOr<std::unique_ptr<Lane>> OpenLane(Deadline deadline) override {
    return Lane::Connect(socket_path_, deadline);
  }

  bool remote() const override { return false; }

 private:
  absl::StatusOr<std::shared_ptr<MappedRegion>> RegionOf(const Lane::Welcome& welcome,
                                                         bool read_only)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    const bool same = region_ != nullptr && region_->incarnation() == welcome.incarnation &&
                      region_->read_only() == read_only;
    if (same) return region_;
    DUNLIN_ASSIGN_OR_RETURN(
        region_, MappedRegion::Map(welcome.region, read_only, welcome.incarnation, guard_));
    return region_;
  }

  const std::string socket_path_;
  const std::shared_ptr<ForkGuard> guard_;
  Mutex mutex_;
  std::shared_ptr<MappedRegion> region_ ABSL_GUARDED_BY(mutex_);  // the newest
};

}  // namespace

std::unique_ptr<Opener> MakeShmOpener(std::string socket_path, std::shared_ptr<ForkGuard> guard) {
  return std::make_unique<ShmOpener>(std::move(socket_path), std::move(guard));
}

}  // namespace dunlin
