#include "client/connect/server_client.h"

#include <chrono>
#include <utility>

#include "client/connect/server_status.h"
#include "client/session/make_session.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/layout/directory.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

// A session that was never used has nothing to give back: its end is not worth a long wait.
constexpr Milliseconds kSpareGoodbye{100};
// The server walks its whole index, a little at a time.
constexpr Milliseconds kCountDeadline{60'000};
// The server lists and deletes snapshots between the pieces of one that it writes.
constexpr Milliseconds kDirectoryDeadline{60'000};

}  // namespace

absl::StatusOr<std::unique_ptr<ServerClient>> ServerClient::Connect(
    const std::vector<Target>& targets, ClientOptions options) {
  DUNLIN_ASSIGN_OR_RETURN(std::shared_ptr<ForkGuard> guard, ForkGuard::Create());
  std::unique_ptr<ServerClient> client(new ServerClient(std::move(options), std::move(guard)));
  absl::Status failure;
  for (const Target& target : targets) {
    absl::Status connected = client->ConnectTo(target);
    if (connected.ok()) return client;
    client->passed_over_.push_back(target.text + ": " + std::string(FromAbsl(connected.message())));
    if (failure.ok()) failure = std::move(connected);
  }
  if (targets.size() == 1) return failure;
  std::string all;
  for (const std::string& one : client->passed_over_) all += (all.empty() ? "" : "; ") + one;
  return MakeStatus(failure.code(), "none of the targets can be used: " + all);
}

std::shared_ptr<Opener> ServerClient::OpenerOf(const Target& target) const {
  switch (target.fabric) {
    case Target::Fabric::kShm:
      return MakeShmOpener(target.path, guard_);
    case Target::Fabric::kTcp:
      return MakeTcpOpener(target.address, options_.server_timeout, guard_);
    case Target::Fabric::kRdma:
      return MakeRdmaOpener(target.address, guard_);
  }
  return nullptr;
}

absl::Status ServerClient::ConnectTo(const Target& target) {
  opener_ = OpenerOf(target);
  DUNLIN_CHECK(opener_ != nullptr);
  target_ = target.text;
  if (!options_.sessions) {
    MutexLock lock(admin_mutex_);
    DUNLIN_ASSIGN_OR_RETURN(admin_lane_, opener_->OpenLane(ConnectDeadline()));
    return admin_lane_->Ping(ConnectDeadline()).status();
  }
  DUNLIN_ASSIGN_OR_RETURN(std::unique_ptr<SessionParts> parts,
                          opener_->OpenSession(Request(), ConnectDeadline()));
  MutexLock lock(mutex_);
  constants_ = parts->constants;
  region_ = parts->region;
  spare_ = std::move(parts);
  return absl::OkStatus();
}

ServerClient::~ServerClient() {
  MutexLock lock(mutex_);
  if (guard_->InChild()) {
    if (watch_ != nullptr) watch_->Abandon();
    // What they hold is the parent's.
    (void)watch_.release();
    return;
  }
  // If the server doesn't answer it learns from the closed connection.
  if (spare_ != nullptr) spare_->lane->Goodbye(Deadline::After(kSpareGoodbye)).IgnoreError();
}

absl::Status ServerClient::RefuseInChild() const {
  return guard_->InChild() ? ToStatus(Outcome::kForked) : absl::OkStatus();
}

Opener::Request ServerClient::Request() const {
  Opener::Request request;
  request.name = options_.name;
  request.read_only = options_.read_only;
  return request;
}

// With the first session: who only asks for the status needs none.
void ServerClient::StartWatch() {
  if (!opener_->remote() || options_.server_timeout.count() <= 0) return;
  MutexLock lock(mutex_);
  if (watch_ != nullptr) return;
  watch_ = std::make_unique<ServerWatch>(opener_, options_.name + " (watch)",
                                         options_.server_timeout, health_);
}

absl::StatusOr<std::unique_ptr<Session>> ServerClient::OpenSession(const SessionOptions& options) {
  DUNLIN_RETURN_IF_ERROR(RefuseInChild());
  std::unique_ptr<SessionParts> parts;
  {
    MutexLock lock(mutex_);
    parts = std::move(spare_);
  }
  // The server may have gone since Connect.
  if (parts == nullptr || parts->lane->HungUp()) {
    DUNLIN_ASSIGN_OR_RETURN(parts, opener_->OpenSession(Request(), ConnectDeadline()));
    MutexLock lock(mutex_);
    constants_ = parts->constants;
    region_ = parts->region;
  }
  StartWatch();
  return MakeSession({opener_, health_, Request(), options_.connect_deadline}, std::move(parts),
                     options);
}

absl::StatusOr<Lane*> ServerClient::AdminLane(Deadline deadline) {
  if (admin_lane_ == nullptr || admin_lane_->HungUp()) {
    admin_lane_ = nullptr;
    DUNLIN_ASSIGN_OR_RETURN(admin_lane_, opener_->OpenLane(deadline));
  }
  return admin_lane_.get();
}

absl::StatusOr<Client::Pong> ServerClient::Ping() {
  DUNLIN_RETURN_IF_ERROR(RefuseInChild());
  MutexLock lock(admin_mutex_);
  const Deadline deadline = ConnectDeadline();
  DUNLIN_ASSIGN_OR_RETURN(Lane* const lane, AdminLane(deadline));
  const int64_t before = clock_.NowNanos();
  DUNLIN_ASSIGN_OR_RETURN(const control::PingReply reply, lane->Ping(deadline));
  return Pong{reply.server_release(), std::chrono::nanoseconds(clock_.NowNanos() - before)};
}

absl::StatusOr<ServerStatus> ServerClient::AskStatus(const Lane::StatusOptions& options,
                                                     Deadline deadline) {
  DUNLIN_RETURN_IF_ERROR(RefuseInChild());
  MutexLock lock(admin_mutex_);
  DUNLIN_ASSIGN_OR_RETURN(Lane* const lane, AdminLane(deadline));
  DUNLIN_ASSIGN_OR_RETURN(const control::StatusReply reply, lane->Status(options, deadline));
  return ToServerStatus(reply);
}

absl::StatusOr<ServerStatus> ServerClient::Status(bool count_index) {
  return AskStatus({.count_index = count_index},
                   count_index ? Deadline::After(kCountDeadline) : ConnectDeadline());
}

absl::StatusOr<ServerStatus> ServerClient::Sweep(Milliseconds patience) {
  return AskStatus({.count_index = true, .sweep = true}, Deadline::After(patience));
}

absl::StatusOr<std::vector<SnapshotSummary>> ServerClient::AskSnapshots(
    const control::SnapshotRequest& request, Deadline deadline) const {
  DUNLIN_RETURN_IF_ERROR(RefuseInChild());
  DUNLIN_ASSIGN_OR_RETURN(const std::unique_ptr<Lane> lane, opener_->OpenLane(ConnectDeadline()));
  DUNLIN_ASSIGN_OR_RETURN(const control::SnapshotReply reply, lane->Snapshot(request, deadline));
  return ToSnapshots(reply);
}

absl::StatusOr<SnapshotSummary> ServerClient::CreateSnapshot(Milliseconds patience) {
  control::SnapshotRequest request;
  request.set_create(true);
  DUNLIN_ASSIGN_OR_RETURN(std::vector<SnapshotSummary> made,
                          AskSnapshots(request, Deadline::After(patience)));
  if (made.size() == 1) return std::move(made.front());
  return MakeStatus(absl::StatusCode::kInternal, "the server answered with " +
                                                     std::to_string(made.size()) +
                                                     " snapshots; expected the one it made");
}

absl::StatusOr<std::vector<SnapshotSummary>> ServerClient::ListSnapshots() {
  control::SnapshotRequest request;
  request.set_list(true);
  return AskSnapshots(request, Deadline::After(kDirectoryDeadline));
}

absl::Status ServerClient::DeleteSnapshot(uint64_t id) {
  control::SnapshotRequest request;
  request.set_delete_id(id);
  return AskSnapshots(request, Deadline::After(kDirectoryDeadline)).status();
}

RegionLayout ServerClient::Layout() const {
  MutexLock lock(mutex_);
  const Superblock& s = constants_;
  RegionLayout layout;
  layout.layout_version = s.layout_version;
  layout.region_bytes = s.region_bytes;
  layout.session_offset = s.session_offset;
  layout.directory_offset = s.directory_offset;
  layout.index_offset = s.index_offset;
  layout.heap_offset = s.heap_offset;
  layout.index_bytes = s.index_bytes;
  layout.heap_bytes = s.heap_bytes;
  layout.session_words = s.session_words;
  layout.slots_per_bucket = s.slots_per_bucket;
  layout.buckets_per_subtable = s.buckets_per_subtable;
  layout.incarnation = s.incarnation;
  // Without a mapping, as in a child, the directory is seen as it was when the session was opened.
  const bool mapped = region_ != nullptr && !guard_->InChild();
  const uint64_t root =
      mapped ? LoadWord(&region_->superblock()->directory_root) : s.directory_root;
  layout.directory_depth = DirectoryRoot(root).depth();
  return layout;
}

}  // namespace dunlin
