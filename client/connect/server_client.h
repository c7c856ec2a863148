#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "client/connect/fork_guard.h"
#include "client/connect/opener.h"
#include "client/connect/server_health.h"
#include "client/connect/server_watch.h"
#include "client/connect/session_parts.h"
#include "client/connect/target.h"
#include "client/lane/lane.h"
#include "common/base/clock.h"
#include "common/base/sync.h"
#include "dunlin/client.h"

namespace dunlin {

// A client of one server, over any fabric. Every session has a connection of its own; one without a
// session serves Ping and Status.
class ServerClient final : public Client {
 public:
  // Takes the first of the targets that answers.
  static absl::StatusOr<std::unique_ptr<ServerClient>> Connect(const std::vector<Target>& targets,
                                                               ClientOptions options);
  ~ServerClient() override;

  absl::StatusOr<std::unique_ptr<Session>> OpenSession(const SessionOptions& options) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Pong> Ping() override ABSL_LOCKS_EXCLUDED(admin_mutex_);
  absl::StatusOr<ServerStatus> Status(bool count_index) override ABSL_LOCKS_EXCLUDED(admin_mutex_);
  absl::StatusOr<ServerStatus> Sweep(Milliseconds patience) override
      ABSL_LOCKS_EXCLUDED(admin_mutex_);
  absl::StatusOr<SnapshotSummary> CreateSnapshot(Milliseconds patience) override;
  absl::StatusOr<std::vector<SnapshotSummary>> ListSnapshots() override;
  absl::Status DeleteSnapshot(uint64_t id) override;
  RegionLayout Layout() const override ABSL_LOCKS_EXCLUDED(mutex_);
  const std::string& target() const override { return target_; }
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  ServerClient(ClientOptions options, std::shared_ptr<ForkGuard> guard)
      : options_(std::move(options)), guard_(std::move(guard)) {}

  absl::Status ConnectTo(const Target& target);
  std::shared_ptr<Opener> OpenerOf(const Target& target) const;
  void StartWatch() ABSL_LOCKS_EXCLUDED(mutex_);
  Opener::Request Request() const;
  Deadline ConnectDeadline() const { return Deadline::After(options_.connect_deadline); }
  absl::Status RefuseInChild() const;
  absl::StatusOr<ServerStatus> AskStatus(const Lane::StatusOptions& options, Deadline deadline)
      ABSL_LOCKS_EXCLUDED(admin_mutex_);
  // On a lane of its own: a snapshot may take minutes.
  absl::StatusOr<std::vector<SnapshotSummary>> AskSnapshots(const control::SnapshotRequest& request,
                                                            Deadline deadline) const;
  // A working admin lane.
  absl::StatusOr<Lane*> AdminLane(Deadline deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mutex_);

  const ClientOptions options_;
  const std::shared_ptr<ForkGuard> guard_;
  const SystemClock clock_;
  const std::shared_ptr<ServerHealth> health_ = std::make_shared<ServerHealth>();
  // These are constant once Connect has returned.
  std::shared_ptr<Opener> opener_;
  std::string target_;
  std::vector<std::string> passed_over_;

  mutable Mutex mutex_;
  Superblock constants_ ABSL_GUARDED_BY(mutex_){};  // of the newest session
  std::shared_ptr<MappedRegion> region_ ABSL_GUARDED_BY(mutex_);
  // Connect opens a session to see whether the region can be used; the first OpenSession takes it.
  std::unique_ptr<SessionParts> spare_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ServerWatch> watch_ ABSL_GUARDED_BY(mutex_);

  // Apart, so that a slow Status holds up no OpenSession.
  Mutex admin_mutex_;
  std::unique_ptr<Lane> admin_lane_ ABSL_GUARDED_BY(admin_mutex_);
};

}  // namespace dunlin
