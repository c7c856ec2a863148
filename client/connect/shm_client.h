#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "client/connect/fork_guard.h"
#include "client/connect/mapped_region.h"
#include "client/connect/session_parts.h"
#include "client/lane/lane.h"
#include "common/base/clock.h"
#include "common/base/sync.h"
#include "dunlin/client.h"

namespace dunlin {

// A client of a server on this machine. Every session has a lane of its own; one lane without a
// session serves Ping and Status. Sessions share one mapping of the region as long as the server is
// the same incarnation; after its restart new sessions map the new region, and the old ones keep
// the old one until they are gone.
class ShmClient final : public Client {
 public:
  static absl::StatusOr<std::unique_ptr<ShmClient>> Connect(std::string socket_path,
                                                            ClientOptions options);
  ~ShmClient() override;

  absl::StatusOr<std::unique_ptr<Session>> OpenSession(const SessionOptions& options) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Pong> Ping() override ABSL_LOCKS_EXCLUDED(admin_mutex_);
  absl::StatusOr<ServerStatus> Status(bool count_index) override ABSL_LOCKS_EXCLUDED(admin_mutex_);
  RegionLayout Layout() const override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ShmClient(std::string socket_path, ClientOptions options, std::shared_ptr<ForkGuard> guard);

  Deadline ConnectDeadline() const { return Deadline::After(options_.connect_deadline); }
  absl::Status RefuseInChild() const;
  // A lane with its session, and the region mapped.
  absl::StatusOr<ShmSessionParts> OpenParts(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<MappedRegion>> RegionOf(const Lane::Welcome& welcome)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A working admin lane.
  absl::StatusOr<Lane*> AdminLane(Deadline deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mutex_);

  const std::string socket_path_;
  const ClientOptions options_;
  const std::shared_ptr<ForkGuard> guard_;
  const SystemClock clock_;

  mutable Mutex mutex_;
  std::shared_ptr<MappedRegion> region_ ABSL_GUARDED_BY(mutex_);  // the newest
  // Connect opens a session to see whether the region can be used; the first OpenSession takes it.
  std::unique_ptr<ShmSessionParts> spare_ ABSL_GUARDED_BY(mutex_);

  // Apart, so that a slow Status holds up no OpenSession.
  Mutex admin_mutex_;
  std::unique_ptr<Lane> admin_lane_ ABSL_GUARDED_BY(admin_mutex_);
};

}  // namespace dunlin
