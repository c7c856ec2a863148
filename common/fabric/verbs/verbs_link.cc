#include "common/fabric/verbs/verbs_link.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/fabric/verbs/verbs_error.h"
#include "common/fabric/verbs/verbs_handles.h"

namespace dunlin {

VerbsLink::VerbsLink(ibv_qp* qp, ibv_cq* cq, const Limits& limits, const Buffers& buffers,
                     std::string peer, Owner* owner)
    : qp_(qp),
      cq_(cq),
      limits_(limits),
      buffers_(buffers),
      peer_(std::move(peer)),
      owner_(owner),
      credits_(limits.receive_depth, limits.peer_receive_depth),
      ring_(static_cast<uint32_t>(buffers.staging.size())),
      posted_(limits.segments),
      received_(limits.receive_depth) {
  DUNLIN_CHECK_GE(buffers.receive.size(), size_t{limits.receive_depth} * limits.message_bytes);
}

absl::Status VerbsLink::PostReceives() {
  for (uint32_t i = 0; i < limits_.receive_depth; ++i) DUNLIN_RETURN_IF_ERROR(PostReceive(i));
  return absl::OkStatus();
}

void VerbsLink::SetPeer(uint32_t receive_depth, uint32_t message_bytes) {
  limits_.peer_receive_depth = receive_depth;
  // A message must fit into the staging buffer beside another.
  limits_.peer_message_bytes = std::min(message_bytes, ring_.bytes() / 2);
  credits_ = Credits(limits_.receive_depth, receive_depth);
}

absl::Status VerbsLink::PostReceive(uint32_t buffer) {
  ibv_sge memory{reinterpret_cast<uintptr_t>(BufferAt(buffer)), limits_.message_bytes,
                 buffers_.receive_key};
  ibv_recv_wr request{};
  request.wr_id = uint64_t{buffer} << kNumberShift | kIsReceive;
  request.sg_list = &memory;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(qp_, &request, &refused);
  if (error == 0 && refused == nullptr) return absl::OkStatus();
  return UnavailableFrom("posting a receive buffer (" + peer_ + ")", error);
}

VerbsLink::Draft VerbsLink::Begin(uint32_t staging_bytes, uint32_t pieces) {
  if (!HasRoom(pieces)) return {};
  const std::optional<uint32_t> at = ring_.Take(staging_bytes);
  if (!at.has_value()) return {};
  Posted& posted = PostedAt(next_);
  posted.segment.count = 0;
  posted.segment.staging_bytes = 0;
  posted.staging = *at;
  posted.staging_mark = ring_.mark();
  return {&posted.segment, buffers_.staging.data() + *at};
}

void VerbsLink::AddMessage(const Draft& draft, std::span<const std::byte> bytes) {
  DUNLIN_DCHECK(bytes.size() <= MostBytesInMessage());
  Segment& segment = *draft.segment;
  const uint32_t length = static_cast<uint32_t>(bytes.size());
  const MessageHeader header{length, credits_.Spend()};
  std::byte* to = draft.staging + segment.staging_bytes;
  std::memcpy(to, &header, sizeof header);
  if (length != 0) std::memcpy(to + sizeof header, bytes.data(), length);
  Piece& piece = segment.pieces[segment.count++];
  piece = {};
  piece.kind = PieceKind::kSend;
  piece.bytes = kHeaderBytes + length;
  piece.staging = segment.staging_bytes;
  segment.staging_bytes += StagingOfMessage(length);
}

uint32_t VerbsLink::Post(const Draft& draft, uint32_t tag, const Chain* chain) {
  const Segment& segment = *draft.segment;
  if (!broken_.ok()) return 0;
  Posted& posted = PostedAt(next_);
  posted.tag = tag;
  const RequestContext context{chain,
                               draft.staging,
                               buffers_.staging_key,
                               limits_.max_inline,
                               next_ << kNumberShift,
                               SignalledPieces(segment, limits_.reads_apart)};
  BuildRequests(segment, context, requests_, request_buffers_);
  posted.pending = static_cast<uint32_t>(std::popcount(context.signalled));
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(qp_, requests_.data(), &refused);
  ++next_;
  slots_used_ += segment.count;
  // Some providers return 0 and say only here that they stopped.
  if (error == 0 && refused == nullptr) return segment.count;
  const uint32_t taken = refused == nullptr ? 0 : static_cast<uint32_t>(refused - requests_.data());
  const Piece& piece = segment.pieces[std::min(taken, segment.count - 1)];
  Break(UnavailableFrom("posting a " + DescribePiece(piece) + " (" + peer_ + ")",
                        error > 0 ? error : -error));
  return std::min(taken, segment.count);
}

size_t VerbsLink::Send(std::span<const std::byte> bytes) {
  size_t sent = 0;
  while (sent < bytes.size() && ForBytes() != 0 && broken_.ok()) {
    const size_t length = std::min<size_t>(bytes.size() - sent, MostBytesInMessage());
    const Draft draft = Begin(StagingOfMessage(static_cast<uint32_t>(length)), 1);
    if (draft.segment == nullptr) break;
    AddMessage(draft, bytes.subspan(sent, length));
    if (Post(draft, kTagOfMessages, nullptr) == 0) break;
    sent += length;
  }
  return sent;
}

void VerbsLink::Probe() {
  if (probing_ || !broken_.ok()) return;
  const Draft draft = Begin(0, 1);
  if (draft.segment == nullptr) return;
  Piece& piece = draft.segment->pieces[draft.segment->count++];
  piece = {};
  piece.kind = PieceKind::kProbe;
  probing_ = Post(draft, kTagOfProbe, nullptr) == 1;
}

void VerbsLink::GrantIfDue() {
  if (!credits_.GrantDue() || !broken_.ok()) return;
  const Draft draft = Begin(StagingOfMessage(0), 1);
  if (draft.segment == nullptr) return;
  AddMessage(draft, {});
  Post(draft, kTagOfMessages, nullptr);
}

std::span<const std::byte> VerbsLink::Received() const {
  if (first_message_ == end_message_) return {};
  const Message& message = received_[first_message_ % received_.size()];
  return {BufferAt(message.buffer) + message.at, message.end - message.at};
}

void VerbsLink::Consume(size_t bytes) {
  received_[first_message_ % received_.size()].at += static_cast<uint32_t>(bytes);
  ReleaseConsumed();
}

// A message that was sent for its credits has nothing to consume, and is done with in its turn.
void VerbsLink::ReleaseConsumed() {
  while (first_message_ != end_message_) {
    const Message& message = received_[first_message_ % received_.size()];
    if (message.at < message.end) return;
    ++first_message_;
    if (!broken_.ok()) continue;
    if (absl::Status posted = PostReceive(message.buffer); !posted.ok()) {
      Break(std::move(posted));
      continue;
    }
    credits_.Reposted();
    GrantIfDue();
  }
}

uint32_t VerbsLink::Progress() {
  ibv_wc completions[kCompletionsAtOnce];
  uint32_t total = 0;
  for (;;) {
    const int n = ibv_poll_cq(cq_, kCompletionsAtOnce, completions);
    if (n < 0) Break(UnavailableFrom("polling the completion queue (" + peer_ + ")", -n));
    if (n <= 0) break;
    for (int i = 0; i < n; ++i) Take(completions[i]);
    total += static_cast<uint32_t>(n);
    if (n < static_cast<int>(kCompletionsAtOnce)) break;
  }
  if (total == 0) return 0;
  completions_ += total;
  RetireDone();
  // What was missing for a grant that is due may be there now.
  GrantIfDue();
  return total;
}

void VerbsLink::Take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) return Fail(completion);
  if ((completion.wr_id & kIsReceive) != 0) return TakeReceived(completion);
  TakeSent(completion);
}

void VerbsLink::TakeSent(const ibv_wc& completion) {
  Posted& posted = PostedAt(completion.wr_id >> kNumberShift);
  if (--posted.pending != 0) return;
  if (posted.tag == kTagOfProbe) probing_ = false;
  if (posted.tag >= kTagOfProbe || owner_ == nullptr) return;
  owner_->OnSegmentDone(posted.tag, posted.segment, buffers_.staging.data() + posted.staging);
}

void VerbsLink::TakeReceived(const ibv_wc& completion) {
  const uint32_t buffer = static_cast<uint32_t>(completion.wr_id >> kNumberShift);
  MessageHeader header{};
  const bool has_header = completion.byte_len >= sizeof header;
  if (has_header) std::memcpy(&header, BufferAt(buffer), sizeof header);
  if (!has_header || header.bytes != completion.byte_len - sizeof header ||
      !credits_.Granted(header.credits)) {
    return Break(absl::FailedPreconditionError(
        ToAbsl("what " + peer_ +
               " sent is not a message of the lane: " + std::to_string(completion.byte_len) +
               " bytes, which state a length of " + std::to_string(header.bytes) + " and grant " +
               std::to_string(header.credits) + " credits")));
  }
  ++messages_received_;
  received_[end_message_++ % received_.size()] = {buffer, kHeaderBytes, completion.byte_len};
  ReleaseConsumed();
}

void VerbsLink::Fail(const ibv_wc& completion) {
  if (IsFlush(completion.status) && !broken_.ok()) return;
  std::string operation = "receive buffer";
  if ((completion.wr_id & kIsReceive) == 0) {
    const Segment& segment = PostedAt(completion.wr_id >> kNumberShift).segment;
    const uint64_t piece = completion.wr_id & kPieceMask;
    if (piece < segment.count) operation = DescribePiece(segment.pieces[piece]);
  }
  absl::Status why = StatusOfCompletion(completion, operation, peer_);
  Break(std::move(why));
  only_flushed_ = IsFlush(completion.status);
}

void VerbsLink::RetireDone() {
  while (oldest_ != next_ && PostedAt(oldest_).pending == 0) {
    const Posted& posted = PostedAt(oldest_++);
    slots_used_ -= posted.segment.count;
    ring_.GiveBackTo(posted.staging_mark);
  }
}

void VerbsLink::Break(absl::Status why) {
  // A flush is but the consequence of something.
  if (!broken_.ok() && !only_flushed_) return;
  broken_ = std::move(why);
  only_flushed_ = false;
}

}  // namespace dunlin
