#include "client/connect/shm_client.h"

#include <chrono>
#include <utility>

#include "client/connect/server_status.h"
#include "client/session/shm_session.h"
#include "common/base/status.h"
#include "common/layout/directory.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

// A session that was never used has nothing to give back: its end is not worth a long wait.
constexpr Milliseconds kSpareGoodbye{100};
// The server walks its whole index, a little at a time.
constexpr Milliseconds kCountDeadline{60'000};

}  // namespace

absl::StatusOr<std::unique_ptr<ShmClient>> ShmClient::Connect(std::string socket_path,
                                                              ClientOptions options) {
  DUNLIN_ASSIGN_OR_RETURN(std::shared_ptr<ForkGuard> guard, ForkGuard::Create());
  std::unique_ptr<ShmClient> client(
      new ShmClient(std::move(socket_path), std::move(options), std::move(guard)));
  DUNLIN_ASSIGN_OR_RETURN(ShmSessionParts parts, client->OpenParts(client->ConnectDeadline()));
  MutexLock lock(client->mutex_);
  client->spare_ = std::make_unique<ShmSessionParts>(std::move(parts));
  return client;
}

ShmClient::ShmClient(std::string socket_path, ClientOptions options,
                     std::shared_ptr<ForkGuard> guard)
    : socket_path_(std::move(socket_path)),
      options_(std::move(options)),
      guard_(std::move(guard)) {}

ShmClient::~ShmClient() {
  if (guard_->InChild()) return;
  MutexLock lock(mutex_);
  // If the server doesn't answer it learns from the closed connection.
  if (spare_ != nullptr) spare_->lane->Goodbye(Deadline::After(kSpareGoodbye)).IgnoreError();
}

absl::Status ShmClient::RefuseInChild() const {
  return guard_->InChild() ? ToStatus(Outcome::kForked) : absl::OkStatus();
}

absl::StatusOr<ShmSessionParts> ShmClient::OpenParts(Deadline deadline) {
  ShmSessionParts parts;
  DUNLIN_ASSIGN_OR_RETURN(parts.lane, Lane::Connect(socket_path_, deadline));
  DUNLIN_ASSIGN_OR_RETURN(const Lane::Welcome welcome,
                          parts.lane->Hello(options_.name, options_.read_only, deadline));
  DUNLIN_ASSIGN_OR_RETURN(parts.region, RegionOf(welcome));
  const uint32_t session_words = parts.region->constants().session_words;
  if (welcome.session_word >= session_words) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "session word: expected one of " + std::to_string(session_words) +
                          ", found " + std::to_string(welcome.session_word));
  }
  parts.session_id = welcome.session_id;
  parts.session_word = welcome.session_word;
  parts.guard = guard_;
  parts.read_only = options_.read_only;
  return parts;
}

absl::StatusOr<std::shared_ptr<MappedRegion>> ShmClient::RegionOf(const Lane::Welcome& welcome) {
  MutexLock lock(mutex_);
  if (region_ != nullptr && region_->incarnation() == welcome.incarnation) return region_;
  DUNLIN_ASSIGN_OR_RETURN(
      region_, MappedRegion::Map(welcome.region, options_.read_only, welcome.incarnation, guard_));
  return region_;
}

absl::StatusOr<std::unique_ptr<Session>> ShmClient::OpenSession(const SessionOptions& options) {
  DUNLIN_RETURN_IF_ERROR(RefuseInChild());
  std::unique_ptr<ShmSessionParts> parts;
  {
    MutexLock lock(mutex_);
    parts = std::move(spare_);
  }
  // The server may have gone since Connect.
  if (parts == nullptr || parts->lane->HungUp()) {
    DUNLIN_ASSIGN_OR_RETURN(ShmSessionParts opened, OpenParts(ConnectDeadline()));
    parts = std::make_unique<ShmSessionParts>(std::move(opened));
  }
  return MakeShmSession(std::move(*parts), options);
}

absl::StatusOr<Lane*> ShmClient::AdminLane(Deadline deadline) {
  if (admin_lane_ == nullptr || admin_lane_->HungUp()) {
    admin_lane_ = nullptr;
    DUNLIN_ASSIGN_OR_RETURN(admin_lane_, Lane::Connect(socket_path_, deadline));
  }
  return admin_lane_.get();
}

absl::StatusOr<Client::Pong> ShmClient::Ping() {
  DUNLIN_RETURN_IF_ERROR(RefuseInChild());
  MutexLock lock(admin_mutex_);
  const Deadline deadline = ConnectDeadline();
  DUNLIN_ASSIGN_OR_RETURN(Lane* const lane, AdminLane(deadline));
  const int64_t before = clock_.NowNanos();
  DUNLIN_ASSIGN_OR_RETURN(const control::PingReply reply, lane->Ping(deadline));
  return Pong{reply.server_release(), std::chrono::nanoseconds(clock_.NowNanos() - before)};
}

absl::StatusOr<ServerStatus> ShmClient::Status(bool count_index) {
  DUNLIN_RETURN_IF_ERROR(RefuseInChild());
  MutexLock lock(admin_mutex_);
  const Deadline deadline = count_index ? Deadline::After(kCountDeadline) : ConnectDeadline();
  DUNLIN_ASSIGN_OR_RETURN(Lane* const lane, AdminLane(deadline));
  DUNLIN_ASSIGN_OR_RETURN(const control::StatusReply reply, lane->Status(count_index, deadline));
  return ToServerStatus(reply);
}

RegionLayout ShmClient::Layout() const {
  MutexLock lock(mutex_);
  const Superblock& s = region_->constants();
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
  // A child has no mapping: it sees the directory as it was when the region was mapped.
  const uint64_t root =
      guard_->InChild() ? s.directory_root : LoadWord(&region_->superblock()->directory_root);
  layout.directory_depth = DirectoryRoot(root).depth();
  return layout;
}

}  // namespace dunlin
