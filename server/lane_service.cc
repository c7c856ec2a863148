#include "server/lane_service.h"

#include <cstring>

#include "common/base/status.h"
#include "common/fabric/chain_frames.h"

namespace dunlin {
namespace {

constexpr size_t kLongestName = 128;

LaneResult Close(std::string why) { return {LaneVerdict::kClose, std::move(why), ""}; }

void AppendFrame(LaneKind kind, std::string_view body, LaneOutput& output) {
  LaneFrame frame{static_cast<uint32_t>(body.size()), static_cast<uint16_t>(kind), 0};
  output.bytes.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  output.bytes.append(body);
}

void AppendReply(const control::ControlReply& reply, LaneOutput& output) {
  AppendFrame(LaneKind::kControlReply, reply.SerializeAsString(), output);
}

void AppendError(const absl::Status& status, LaneOutput& output) {
  control::ControlReply reply;
  reply.set_code(static_cast<uint32_t>(status.code()));
  reply.set_message(std::string(FromAbsl(status.message())));
  AppendReply(reply, output);
}

// The fixed part of a body; the caller has checked `Message` against the body's length.
template <typename Message>
Message Fixed(std::span<const std::byte> body) {
  Message message{};
  std::memcpy(&message, body.data(), std::min(sizeof message, body.size()));
  return message;
}

absl::Status WhyNoSession(const ServerCore& core, const LanePeer& peer,
                          const control::HelloRequest& hello) {
  if (peer.session != 0) {
    return absl::FailedPreconditionError("this connection has session " +
                                         std::to_string(peer.session) + " already");
  }
  if (hello.layout_version() != kLayoutVersion) {
    return absl::FailedPreconditionError(
        "layout version: the server (release " + core.config().release + ") has " +
        std::to_string(kLayoutVersion) + ", the client (release " + hello.client_release() +
        ") has " + std::to_string(hello.layout_version()) +
        "; use a client and a server of releases with one layout version");
  }
  if (peer.remote == nullptr && !core.config().no_shm_because.empty()) {
    return absl::FailedPreconditionError("no sessions on shared memory: " +
                                         core.config().no_shm_because);
  }
  if (!peer.can_be_fenced) {
    return absl::FailedPreconditionError(
        "the server cannot see the client's process, so it could not tell when it has ended; run "
        "both in one PID namespace (containers: share the host's or the pod's)");
  }
  return absl::OkStatus();
}

void AddKeys(const RegionAccess& access, control::HelloReply& reply) {
  for (const MemoryKey& part : access.keys) {
    control::MemoryKey& key = *reply.add_keys();
    key.set_offset(part.offset);
    key.set_bytes(part.bytes);
    key.set_address(part.address);
    key.set_key(part.key);
  }
}

LaneResult Hello(ServerCore& core, LanePeer& peer, const control::HelloRequest& hello,
                 LaneOutput& output) {
  absl::Status status = WhyNoSession(core, peer, hello);
  if (status.ok() && hello.replaces_session() != 0 &&
      hello.replaces_incarnation() == core.plan().incarnation) {
    status = core.ReplaceSession(hello.replaces_session(), hello.replaces_token());
  }
  const SessionEntry* session = nullptr;
  if (status.ok()) {
    absl::StatusOr<const SessionEntry*> opened =
        core.OpenSession({hello.client_name().substr(0, kLongestName), peer.pid, hello.read_only(),
                          peer.remote != nullptr ? peer.remote->name() : "shm"});
    status = opened.status();
    if (opened.ok()) session = *opened;
  }
  if (session == nullptr) {
    core.CountRefusedConnection();
    AppendError(status, output);
    return {LaneVerdict::kNext, "", "hello refused: " + std::string(FromAbsl(status.message()))};
  }
  peer.session = session->id;
  peer.read_only = session->read_only;
  control::ControlReply reply;
  control::HelloReply& out = *reply.mutable_hello();
  out.set_session_id(session->id);
  out.set_session_word(session->word);
  out.set_incarnation(core.plan().incarnation);
  out.set_region_bytes(core.plan().region_bytes);
  out.set_server_release(core.config().release);
  out.set_server_pid(core.config().pid);
  out.set_huge_pages(core.config().huge_pages);
  out.set_token(session->token);
  out.set_nic_atomics(core.nic_atomics());
  out.set_follows(true);
  if (peer.remote == nullptr) {
    output.region = {output.bytes.size(), session->read_only};
  } else {
    AddKeys(peer.remote->Access(session->read_only), out);
  }
  AppendReply(reply, output);
  return {};
}

LaneResult Status(ServerCore& core, LanePeer& peer, const control::StatusRequest& request,
                  LaneOutput& output) {
  if (request.sweep()) {
    if (peer.sweep_ticket == 0) peer.sweep_ticket = core.patrol().RequestSweep();
    if (!core.patrol().Swept(peer.sweep_ticket)) return {LaneVerdict::kLater, "", ""};
  }
  if (request.count_index()) {
    if (peer.count_ticket == 0) peer.count_ticket = core.RequestCount();
    if (!core.CountDone(peer.count_ticket)) return {LaneVerdict::kLater, "", ""};
    peer.count_ticket = 0;
  }
  peer.sweep_ticket = 0;
  control::ControlReply reply;
  core.FillStatus(*reply.mutable_status());
  reply.mutable_status()->set_counted(request.count_index());
  // Thousands of sessions may not fit into one frame; the totals do.
  if (reply.ByteSizeLong() > kMaxLaneBody) reply.mutable_status()->clear_sessions();
  AppendReply(reply, output);
  return {};
}

void AddSnapshot(const SnapshotInfo& info, control::SnapshotReply& reply) {
  control::SnapshotEntry& entry = *reply.add_snapshots();
  entry.set_id(info.id);
  entry.set_records(info.counts.records);
  entry.set_bytes(info.counts.bytes);
  entry.set_file_bytes(info.file_bytes());
  entry.set_started_unix_ms(info.counts.started_unix_ms);
  entry.set_finished_unix_ms(info.counts.finished_unix_ms);
  entry.set_full(info.full);
  entry.set_changed(info.changed);
  entry.set_deleted(info.deleted);
  entry.set_layout_version(info.layout_version);
  entry.set_release(info.release);
}

uint64_t AskForSnapshots(SnapshotService& snapshots, const control::SnapshotRequest& request) {
  switch (request.action_case()) {
    case control::SnapshotRequest::kCreate:
      return snapshots.Request();
    case control::SnapshotRequest::kDeleteId:
      return snapshots.RequestDelete(request.delete_id());
    default:
      return snapshots.RequestList();
  }
}

// Nothing: it is not over yet.
std::optional<absl::Status> SnapshotOutcome(SnapshotService& snapshots, bool create,
                                            uint64_t request, control::SnapshotReply& reply) {
  if (create) {
    const auto made = snapshots.TakeOutcome(request);
    if (!made) return std::nullopt;
    if (made->ok()) {
      AddSnapshot(**made, reply);
      return absl::OkStatus();
    }
    // Of a disk, not of the server, and not of what the client named.
    const bool telling =
        absl::IsResourceExhausted(made->status()) || absl::IsFailedPrecondition(made->status());
    return telling ? made->status()
                   : MakeStatus(absl::StatusCode::kInternal, FromAbsl(made->status().message()));
  }
  const auto done = snapshots.TakeAdministered(request);
  if (!done) return std::nullopt;
  for (const ListedSnapshot& listed : done->listing.snapshots) {
    AddSnapshot(listed.info, reply);
    control::SnapshotEntry& entry = *reply.mutable_snapshots(reply.snapshots_size() - 1);
    entry.set_id(listed.id);
    if (!listed.usable()) entry.set_trouble(std::string(FromAbsl(listed.status.message())));
  }
  return done->status;
}

LaneResult Snapshots(ServerCore& core, LanePeer& peer, const control::SnapshotRequest& request,
                     LaneOutput& output) {
  SnapshotService* const snapshots = core.snapshots();
  if (snapshots == nullptr) {
    AppendError(
        absl::FailedPreconditionError("the server makes no snapshots; start it with snapshot-dir"),
        output);
    return {};
  }
  if (request.action_case() == control::SnapshotRequest::ACTION_NOT_SET ||
      (request.action_case() == control::SnapshotRequest::kDeleteId && request.delete_id() == 0)) {
    AppendError(absl::InvalidArgumentError("a snapshot request without an action"), output);
    return {};
  }
  if (peer.snapshot_request == 0) peer.snapshot_request = AskForSnapshots(*snapshots, request);
  control::ControlReply reply;
  const bool create = request.action_case() == control::SnapshotRequest::kCreate;
  const std::optional<absl::Status> status =
      SnapshotOutcome(*snapshots, create, peer.snapshot_request, *reply.mutable_snapshot());
  if (!status) return {LaneVerdict::kLater, "", ""};
  peer.snapshot_request = 0;
  if (!status->ok()) {
    AppendError(*status, output);
    return {};
  }
  // The oldest of thousands may not fit into one frame.
  while (reply.ByteSizeLong() > kMaxLaneBody) {
    reply.mutable_snapshot()->mutable_snapshots()->RemoveLast();
  }
  AppendReply(reply, output);
  return {};
}

LaneResult Goodbye(ServerCore& core, LanePeer& peer, LaneOutput& output) {
  if (peer.session == 0) return Close("goodbye without a session");
  core.EndSession(peer.session);
  peer.session = 0;
  control::ControlReply reply;
  reply.mutable_goodbye();
  AppendReply(reply, output);
  return {};
}

LaneResult Control(ServerCore& core, LanePeer& peer, std::span<const std::byte> body,
                   LaneOutput& output) {
  control::ControlRequest request;
  if (!request.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return Close("control request of " + std::to_string(body.size()) + " bytes that is no message");
  }
  switch (request.request_case()) {
    case control::ControlRequest::kHello:
      return Hello(core, peer, request.hello(), output);
    case control::ControlRequest::kStatus:
      return Status(core, peer, request.status(), output);
    case control::ControlRequest::kPing: {
      control::ControlReply reply;
      reply.mutable_ping()->set_tick(core.tick());
      reply.mutable_ping()->set_server_release(core.config().release);
      AppendReply(reply, output);
      return {};
    }
    case control::ControlRequest::kGoodbye:
      return Goodbye(core, peer, output);
    case control::ControlRequest::kSnapshot:
      return Snapshots(core, peer, request.snapshot(), output);
    case control::ControlRequest::REQUEST_NOT_SET:
      break;
  }
  AppendError(absl::UnimplementedError("release " + core.config().release +
                                       " of the server does not know this request"),
              output);
  return {};
}

LaneResult UnknownBatch(uint64_t batch) {
  return Close("batch " + std::to_string(batch) + " declared resolved, which was never handed out");
}

LaneResult TakeBlocks(ServerCore& core, LanePeer& peer, std::span<const std::byte> body,
                      LaneOutput& output) {
  BlocksRequest request = Fixed<BlocksRequest>(body);
  if (std::string why = WhyNotValid(request, body.size()); !why.empty()) return Close(why);
  if (!core.Resolve(peer.session, request.resolved_batch)) {
    return UnknownBatch(request.resolved_batch);
  }
  // One that has not asked for a while has given up in between.
  constexpr uint64_t kGivenUp = 200;
  if (core.tick() - peer.blocks_again > kGivenUp) peer.blocks_since = 0;
  ServerCore::Blocks blocks = core.TakeBlocks(peer.session, request, peer.blocks_since != 0);
  if (blocks.reply.outcome == static_cast<uint32_t>(BlocksOutcome::kMemoryFull)) {
    peer.blocks_again = core.tick();
    if (peer.blocks_since == 0) peer.blocks_since = core.tick();
    if (core.tick() - peer.blocks_since < core.room_patience()) {
      blocks.reply.outcome = static_cast<uint32_t>(BlocksOutcome::kRoomSoon);
    }
  } else {
    peer.blocks_since = 0;
  }
  std::string reply(reinterpret_cast<const char*>(&blocks.reply), sizeof blocks.reply);
  reply.append(reinterpret_cast<const char*>(blocks.words.data()),
               blocks.words.size() * sizeof blocks.words[0]);
  AppendFrame(LaneKind::kBlocksReply, reply, output);
  return {};
}

LaneResult ReturnedBlocks(ServerCore& core, LanePeer& peer, std::span<const std::byte> body) {
  // It can't have unlinked anything: what it returns would be somebody's record.
  if (peer.read_only) return Close("blocks returned by a read-only session");
  ReturnBlocks message = Fixed<ReturnBlocks>(body);
  if (std::string why = WhyNotValid(message, body.size()); !why.empty()) return Close(why);
  constexpr uint32_t kAhead = 8;
  auto word = [&](uint32_t i) {
    return SlotWord(
        Fixed<ReturnedBlock>(body.subspan(sizeof message + i * sizeof(ReturnedBlock))).word);
  };
  for (uint32_t i = 0; i < message.count; ++i) {
    if (i + kAhead < message.count) core.PrefetchReturn(word(i + kAhead));
    core.ReturnBlock(word(i));
  }
  if (!core.Resolve(peer.session, message.resolved_batch)) {
    return UnknownBatch(message.resolved_batch);
  }
  return {};
}

LaneResult Expired(ServerCore& core, std::span<const std::byte> body, LaneOutput& output) {
  ExpireRequest request = Fixed<ExpireRequest>(body);
  if (std::string why = WhyNotValid(request, body.size()); !why.empty()) return Close(why);
  if (!core.Expire(request.slot_address, SlotWord(request.word))) {
    return Close("expire request for slot " + std::to_string(request.slot_address) + ", word " +
                 std::to_string(request.word) + ": no such slot or no such record");
  }
  AppendFrame(LaneKind::kExpireReply, "", output);
  return {};
}

LaneResult LockExamined(ServerCore& core, std::span<const std::byte> body, LaneOutput& output) {
  ExamineLock request = Fixed<ExamineLock>(body);
  if (std::string why = WhyNotValid(request, body.size()); !why.empty()) return Close(why);
  if (!core.ExamineLock(request.address, BucketHeader(request.word))) {
    return Close("lock to be examined at " + std::to_string(request.address) +
                 ", where there is no bucket");
  }
  AppendFrame(LaneKind::kLockExamined, "", output);
  return {};
}

LaneResult Grown(ServerCore& core, const LanePeer& peer, std::span<const std::byte> body,
                 LaneOutput& output) {
  if (peer.read_only) return Close("a grow request of a read-only session");
  GrowRequest request = Fixed<GrowRequest>(body);
  if (std::string why = WhyNotValid(request, body.size()); !why.empty()) return Close(why);
  const GrowReply reply{static_cast<uint32_t>(core.AskGrow(request.position, request.depth)), 0};
  AppendFrame(LaneKind::kGrowReply,
              std::string_view(reinterpret_cast<const char*>(&reply), sizeof reply), output);
  return {};
}

// A part that continues gets no answer of its own; the stream's order makes it one chain.
LaneResult ChainReceived(ServerCore& core, LanePeer& peer, std::span<const std::byte> body,
                         LaneOutput& output) {
  if (peer.remote == nullptr) return Close("a chain for the server to execute, on shared memory");
  ReceivedChain received;
  std::string why = ParseChainRequest(body, core.plan().region_bytes, peer.read_only, &received);
  if (!why.empty()) return Close(std::move(why));
  if (received.chain.atomics != 0 && core.nic_atomics()) {
    return Close("an atomic for the processor, where the network adapter executes them");
  }
  if (received.continues) {
    core.Execute(received.chain);
    return {};
  }
  const size_t at = output.bytes.size() + sizeof(LaneFrame);
  const auto grow = [&](uint64_t bytes) {
    output.bytes.resize(at + bytes);
    return std::span(reinterpret_cast<std::byte*>(output.bytes.data()) + at, bytes);
  };
  const std::span<std::byte> reply = grow(received.reply_bytes);
  PlaceChainReply(received, reply);
  core.Execute(received.chain);
  FinishChainReply(received, reply);
  if (received.chain.follow.wanted) {
    CarryOutWish(
        received, [&](Chain& chain) { core.Execute(chain); }, grow);
  }
  const LaneFrame frame{static_cast<uint32_t>(received.reply_bytes),
                        static_cast<uint16_t>(LaneKind::kChainReply), 0};
  std::memcpy(output.bytes.data() + at - sizeof frame, &frame, sizeof frame);
  return {};
}

}  // namespace

LaneResult ApplyLaneMessage(ServerCore& core, LanePeer& peer, LaneKind kind,
                            std::span<const std::byte> body, LaneOutput& output) {
  if (kind == LaneKind::kControlRequest) return Control(core, peer, body, output);
  if (peer.session == 0) {
    return Close("message of kind " + std::to_string(static_cast<int>(kind)) +
                 " before a session was opened");
  }
  switch (kind) {
    case LaneKind::kBlocksRequest:
      return TakeBlocks(core, peer, body, output);
    case LaneKind::kReturnBlocks:
      return ReturnedBlocks(core, peer, body);
    case LaneKind::kHeartbeat:
      if (!body.empty()) return Close("heartbeat with a body");
      AppendFrame(LaneKind::kHeartbeat, "", output);
      return {};
    case LaneKind::kExpireRequest:
      return Expired(core, body, output);
    case LaneKind::kExamineLock:
      return LockExamined(core, body, output);
    case LaneKind::kGrowRequest:
      return Grown(core, peer, body, output);
    case LaneKind::kChainRequest:
      return ChainReceived(core, peer, body, output);
    default:
      return Close("message of kind " + std::to_string(static_cast<int>(kind)) +
                   ", which only a server sends");
  }
}

}  // namespace dunlin
