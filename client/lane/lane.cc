#include "client/lane/lane.h"

#include <cstring>
#include <string>

#include "client/lane/connect_socket.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/fabric/frame_stream.h"
#include "common/layout/bucket.h"
#include "common/layout/slot.h"
#include "common/layout/superblock.h"

namespace dunlin {
namespace {

using control::ControlReply;
using control::ControlRequest;

// Of this library, for the server's log.
constexpr char kRelease[] = DUNLIN_RELEASE;

static_assert(sizeof(ReturnBlocks) + Lane::kMaxReturnedBlocks * sizeof(ReturnedBlock) <=
              kMaxLaneBody);
static_assert(sizeof(LaneFrame) + sizeof(ReturnBlocks) +
                  Lane::kMaxReturnedBlocks * sizeof(ReturnedBlock) <=
              Lane::kMaxUnsentBytes);

template <typename T>
std::span<const std::byte> BytesOf(const T& fixed) {
  return std::as_bytes(std::span(&fixed, 1));
}

// A code that is not absl's is not trusted to be one.
absl::Status StatusOf(const ControlReply& reply) {
  if (reply.code() == 0) return absl::OkStatus();
  const bool known = reply.code() <= static_cast<uint32_t>(absl::StatusCode::kUnauthenticated);
  return MakeStatus(
      known ? static_cast<absl::StatusCode>(reply.code()) : absl::StatusCode::kUnknown,
      "the server answered: " + reply.message());
}

std::string WhyNotThese(const BlocksReply& reply, std::span<const uint64_t> words,
                        const BlocksRequest& request) {
  const bool ok = static_cast<BlocksOutcome>(reply.outcome) == BlocksOutcome::kOk;
  if (ok != (reply.count != 0)) {
    return "outcome " + std::to_string(reply.outcome) + " with " + std::to_string(reply.count) +
           " blocks";
  }
  if (reply.count > request.want) {
    return "expected at most " + std::to_string(request.want) + " blocks, found " +
           std::to_string(reply.count);
  }
  if (ok && (reply.first_version == 0 ||
             reply.first_version + reply.version_count < reply.first_version)) {
    return "versions from " + std::to_string(reply.first_version) + " on, " +
           std::to_string(reply.version_count) + " of them";
  }
  for (const uint64_t raw : words) {
    const SlotWord word(raw);
    if (word.size_class() != request.size_class || word.frozen() || word.fingerprint() != 0) {
      return "expected block words of class " + std::to_string(request.size_class) + ", found " +
             std::to_string(raw) + " of class " + std::to_string(word.size_class());
    }
  }
  return "";
}

}  // namespace

Lane::Lane(UniqueFd socket) : port_(std::make_unique<FrameStream>(std::move(socket))) {}

absl::StatusOr<std::unique_ptr<Lane>> Lane::Connect(const std::string& path, Deadline deadline) {
  DUNLIN_ASSIGN_OR_RETURN(UniqueFd socket, ConnectSocket(path, deadline));
  return std::make_unique<Lane>(std::move(socket));
}

absl::StatusOr<Lane::Welcome> Lane::Hello(const HelloOptions& options, Deadline deadline) {
  ControlRequest request;
  control::HelloRequest& hello = *request.mutable_hello();
  hello.set_layout_version(kLayoutVersion);
  hello.set_client_release(kRelease);
  hello.set_client_name(std::string(options.name));
  hello.set_read_only(options.read_only);
  hello.set_replaces_session(options.replaces);
  hello.set_replaces_token(options.replaces_token);
  hello.set_replaces_incarnation(options.replaces_incarnation);
  Welcome welcome;
  DUNLIN_ASSIGN_OR_RETURN(ControlReply reply,
                          Control(request, ControlReply::kHello, deadline, &welcome.region));
  const control::HelloReply& answer = reply.hello();
  if (answer.session_id() == 0 || answer.session_id() > BucketHeader::kMaxOwner) {
    return BreakByProtocol("expected a session id from 1 to " +
                           std::to_string(BucketHeader::kMaxOwner) + ", found " +
                           std::to_string(answer.session_id()));
  }
  welcome.session_id = answer.session_id();
  welcome.session_word = answer.session_word();
  welcome.incarnation = answer.incarnation();
  welcome.region_bytes = answer.region_bytes();
  welcome.server_release = answer.server_release();
  welcome.server_pid = answer.server_pid();
  welcome.huge_pages = answer.huge_pages();
  welcome.token = answer.token();
  welcome.nic_atomics = answer.nic_atomics();
  welcome.follows = answer.follows();
  for (const control::MemoryKey& key : answer.keys()) {
    welcome.keys.push_back({key.offset(), key.bytes(), key.address(), key.key()});
  }
  return welcome;
}

template <typename Message>
absl::StatusOr<std::span<const std::byte>> Lane::Ask(LaneKind kind, const Message& message,
                                                     LaneKind answer, Deadline deadline) {
  DUNLIN_CHECK(WhyNotValid(message, sizeof message).empty());
  DUNLIN_RETURN_IF_ERROR(port_->CheckQuiet());
  port_->Queue(kind, BytesOf(message));
  return Exchange(answer, deadline);
}

template <typename Message>
absl::Status Lane::AskToAct(LaneKind kind, const Message& message, LaneKind answer,
                            const char* what, Deadline deadline) {
  DUNLIN_ASSIGN_OR_RETURN(const std::span<const std::byte> body,
                          Ask(kind, message, answer, deadline));
  if (body.empty()) return absl::OkStatus();
  return BreakByProtocol(std::string(what) + ": expected 0 bytes, found " +
                         std::to_string(body.size()));
}

absl::StatusOr<Lane::Blocks> Lane::RequestBlocks(SizeClass size_class, uint32_t want,
                                                 uint64_t run_bytes, uint64_t resolved_batch,
                                                 Deadline deadline) {
  const BlocksRequest request{size_class, want, run_bytes, resolved_batch};
  DUNLIN_ASSIGN_OR_RETURN(const std::span<const std::byte> body,
                          Ask(LaneKind::kBlocksRequest, request, LaneKind::kBlocksReply, deadline));
  BlocksReply reply{};
  if (body.size() < sizeof reply) {
    return BreakByProtocol("blocks reply: expected at least " + std::to_string(sizeof reply) +
                           " bytes, found " + std::to_string(body.size()));
  }
  std::memcpy(&reply, body.data(), sizeof reply);
  std::string why = WhyNotValid(reply, body.size());
  if (!why.empty()) return BreakByProtocol(why);
  Blocks blocks;
  blocks.words.resize(reply.count);
  if (reply.count != 0) {
    std::memcpy(blocks.words.data(), body.data() + sizeof reply, body.size() - sizeof reply);
  }
  why = WhyNotThese(reply, blocks.words, request);
  if (!why.empty()) return BreakByProtocol("blocks reply: " + why);
  blocks.outcome = static_cast<BlocksOutcome>(reply.outcome);
  blocks.batch = reply.batch;
  blocks.first_version = reply.first_version;
  blocks.version_count = reply.version_count;
  return blocks;
}

absl::Status Lane::ReturnBlocks(std::span<const ReturnedBlock> blocks, uint64_t resolved_batch,
                                Deadline deadline) {
  DUNLIN_CHECK_LE(blocks.size(), kMaxReturnedBlocks);
  const dunlin::ReturnBlocks message{static_cast<uint32_t>(blocks.size()), 0, resolved_batch};
  const size_t frame = sizeof(LaneFrame) + sizeof message + blocks.size_bytes();
  DUNLIN_RETURN_IF_ERROR(port_->SendUntil(kMaxUnsentBytes - frame, deadline));
  port_->Queue(LaneKind::kReturnBlocks, BytesOf(message), std::as_bytes(blocks));
  return port_->SendNow();
}

absl::Status Lane::Expire(uint64_t slot_address, uint64_t word, Deadline deadline) {
  return AskToAct(LaneKind::kExpireRequest, ExpireRequest{slot_address, word},
                  LaneKind::kExpireReply, "expire reply", deadline);
}

absl::Status Lane::ExamineLock(uint64_t address, uint64_t word, Deadline deadline) {
  return AskToAct(LaneKind::kExamineLock, dunlin::ExamineLock{address, word},
                  LaneKind::kLockExamined, "lock examined", deadline);
}

absl::StatusOr<GrowOutcome> Lane::Grow(uint32_t position, uint32_t depth, Deadline deadline) {
  DUNLIN_ASSIGN_OR_RETURN(
      const std::span<const std::byte> body,
      Ask(LaneKind::kGrowRequest, GrowRequest{position, depth}, LaneKind::kGrowReply, deadline));
  GrowReply reply{};
  if (body.size() == sizeof reply) std::memcpy(&reply, body.data(), sizeof reply);
  const std::string why = WhyNotValid(reply, body.size());
  if (!why.empty()) return BreakByProtocol(why);
  return static_cast<GrowOutcome>(reply.outcome);
}

absl::StatusOr<control::PingReply> Lane::Ping(Deadline deadline) {
  ControlRequest request;
  request.mutable_ping();
  DUNLIN_ASSIGN_OR_RETURN(ControlReply reply, Control(request, ControlReply::kPing, deadline));
  return std::move(*reply.mutable_ping());
}

absl::StatusOr<control::StatusReply> Lane::Status(const StatusOptions& options, Deadline deadline) {
  ControlRequest request;
  request.mutable_status()->set_count_index(options.count_index);
  request.mutable_status()->set_sweep(options.sweep);
  DUNLIN_ASSIGN_OR_RETURN(ControlReply reply, Control(request, ControlReply::kStatus, deadline));
  return std::move(*reply.mutable_status());
}

absl::StatusOr<control::SnapshotReply> Lane::Snapshot(const control::SnapshotRequest& request,
                                                      Deadline deadline) {
  ControlRequest whole;
  *whole.mutable_snapshot() = request;
  DUNLIN_ASSIGN_OR_RETURN(ControlReply reply, Control(whole, ControlReply::kSnapshot, deadline));
  return std::move(*reply.mutable_snapshot());
}

absl::Status Lane::Goodbye(Deadline deadline) {
  ControlRequest request;
  request.mutable_goodbye();
  return Control(request, ControlReply::kGoodbye, deadline).status();
}

absl::StatusOr<ControlReply> Lane::Control(const ControlRequest& request,
                                           ControlReply::ReplyCase expected, Deadline deadline,
                                           UniqueFd* descriptor) {
  DUNLIN_RETURN_IF_ERROR(port_->CheckQuiet());
  const std::string text = request.SerializeAsString();
  port_->Queue(LaneKind::kControlRequest, std::as_bytes(std::span(text)));
  DUNLIN_ASSIGN_OR_RETURN(const std::span<const std::byte> body,
                          Exchange(LaneKind::kControlReply, deadline, descriptor));
  ControlReply reply;
  if (!reply.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return BreakByProtocol("a control reply of " + std::to_string(body.size()) +
                           " bytes that is no ControlReply");
  }
  // A refusal leaves the lane in step.
  DUNLIN_RETURN_IF_ERROR(StatusOf(reply));
  if (reply.reply_case() != expected) {
    return BreakByProtocol("expected control reply " + std::to_string(expected) + ", found " +
                           std::to_string(reply.reply_case()));
  }
  return reply;
}

absl::StatusOr<std::span<const std::byte>> Lane::Exchange(LaneKind expected, Deadline deadline,
                                                          UniqueFd* descriptor) {
  if (absl::Status sent = port_->SendUntil(0, deadline); !sent.ok()) return port_->Break(sent);
  DUNLIN_ASSIGN_OR_RETURN(const FramePort::Frame frame, port_->Receive(deadline, descriptor));
  if (frame.kind != expected) {
    return BreakByProtocol("expected a message of kind " +
                           std::to_string(static_cast<uint16_t>(expected)) + ", found kind " +
                           std::to_string(static_cast<uint16_t>(frame.kind)));
  }
  return frame.body;
}

absl::Status Lane::BreakByProtocol(std::string_view what) {
  return port_->Break(
      MakeStatus(absl::StatusCode::kFailedPrecondition,
                 "what the server sent is not the lane protocol: " + std::string(what)));
}

}  // namespace dunlin
