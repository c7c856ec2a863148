#include "common/fabric/verbs/verbs_connection.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/fabric/verbs/verbs_channel.h"

namespace dunlin {
namespace {

VerbsLink::Limits LinkLimits(const VerbsParts& parts, const VerbsOptions& options) {
  VerbsLink::Limits limits;
  limits.send_slots = parts.pair.send_slots();
  limits.max_inline = parts.pair.max_inline();
  limits.receive_depth = options.receive_depth;
  limits.message_bytes = options.message_bytes;
  // Until SetPeer: as its own.
  limits.peer_receive_depth = options.receive_depth;
  limits.peer_message_bytes = options.message_bytes;
  limits.reads_apart = parts.device.iwarp;
  return limits;
}

VerbsLink::Buffers LinkBuffers(const VerbsParts& parts, const VerbsOptions& options) {
  VerbsLink::Buffers buffers;
  buffers.staging = parts.staging.bytes().first(options.staging_bytes);
  buffers.staging_key = parts.staging.local_key();
  buffers.receive = parts.receive.bytes();
  buffers.receive_key = parts.receive.local_key();
  return buffers;
}

bool OneProcessor() {
  cpu_set_t processors;
  return ::sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) == 1;
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

VerbsConnection::VerbsConnection(VerbsParts parts, const VerbsOptions& options, std::string peer)
    : owner_(::getpid()),
      parts_(std::move(parts)),
      options_(options),
      alone_(OneProcessor()),
      link_(parts_.pair.qp(), parts_.pair.cq(), LinkLimits(parts_, options),
            LinkBuffers(parts_, options), std::move(peer), this),
      stream_(&link_) {}

VerbsConnection::~VerbsConnection() {
  if (::getpid() != owner_) {
    // Destroying them would end the parent's connection. The child's copies go with the child.
    [[maybe_unused]] auto* parents = new VerbsParts(std::move(parts_));
    return;
  }
  parts_.pair.DestroyQueuePair();
  // Tells the peer at once; on this asynchronous id it waits for nothing.
  rdma_disconnect(parts_.id.get());
  parts_.pair = {};
}

void VerbsConnection::Queue(LaneKind kind, std::span<const std::byte> fixed,
                            std::span<const std::byte> array) {
  DUNLIN_CHECK_LE(fixed.size() + array.size(), size_t{kMaxLaneBody});
  stream_.AppendFrame(kind, fixed, array);
  ++frames_sent_;
}

absl::Status VerbsConnection::SendNow() {
  if (!broken_.ok()) return broken_;
  stream_.Pump();
  // Completions may bring credits.
  if (stream_.unsent() != 0) Progress();
  AfterPost();
  return broken_;
}

absl::Status VerbsConnection::SendUntil(size_t leave_unsent, Deadline deadline) {
  DUNLIN_RETURN_IF_ERROR(SendNow());
  while (unsent() > leave_unsent) {
    const int64_t left = deadline.NanosLeft();
    if (left == 0)
      return absl::DeadlineExceededError("the server did not take the message in time");
    Wait(left);
    Progress();
    DUNLIN_RETURN_IF_ERROR(SendNow());
  }
  return absl::OkStatus();
}

absl::StatusOr<FramePort::Frame> VerbsConnection::Receive(Deadline deadline, UniqueFd*) {
  while (frames_.empty()) {
    Progress();
    if (!frames_.empty()) break;
    if (!broken_.ok()) return broken_;
    const int64_t left = deadline.NanosLeft();
    if (left == 0) {
      return Break(absl::DeadlineExceededError("the server did not answer in time"));
    }
    Wait(left);
  }
  if (frames_.size() > 1) {
    return Break(absl::FailedPreconditionError(
        "the server sent more than was asked for: it does not speak this lane protocol"));
  }
  const LaneKind kind = frames_.front().kind;
  handed_out_ = std::move(frames_.front().body);
  frames_.pop_front();
  return Frame{kind, handed_out_};
}

absl::Status VerbsConnection::CheckQuiet() {
  if (!broken_.ok()) return broken_;
  Progress();
  LookAtEvents();
  if (broken_.ok() && !frames_.empty()) {
    return Break(absl::FailedPreconditionError(
        "the server sent what nobody asked for: it does not speak this lane protocol"));
  }
  return broken_;
}

absl::Status VerbsConnection::Break(absl::Status why) {
  DUNLIN_CHECK(!why.ok());
  BreakFrom(std::move(why));
  return broken_;
}

std::unique_ptr<Channel> VerbsConnection::OpenChannel(RegionAccess access) {
  DUNLIN_CHECK(chains_ == nullptr, "a connection has one channel");
  std::string why = KeyTable::WhyNotValid(access.keys, access.region_bytes);
  if (why.empty() && access.domain == AtomicDomain::kNic &&
      parts_.device.atomics == VerbsAtomics::kNone) {
    why = "the server's clients change words through their adapters, but this one (" +
          parts_.device.name + ") has no atomics: start the server with the atomic domain 'cpu'";
  }
  if (!why.empty()) {
    BreakFrom(MakeStatus(absl::StatusCode::kFailedPrecondition, why));
    access.keys.clear();
  }
  ChainQueue::Limits limits;
  const uint32_t slots = parts_.pair.send_slots();
  limits.depth = std::clamp<uint32_t>(slots / kMaxWorks, 1, options_.chains);
  limits.segment_bytes = options_.staging_bytes / 4;
  limits.max_message_bytes = parts_.device.max_message_bytes;
  limits.reads_apart = parts_.device.iwarp;
  chains_ = std::make_unique<ChainQueue>(&link_, &stream_, std::move(access), limits);
  return std::make_unique<VerbsChannel>(this);
}

void VerbsConnection::OnSegmentDone(uint32_t tag, const Segment& segment,
                                    const std::byte* staging) {
  chains_->OnSegmentDone(tag, segment, staging);
}

void VerbsConnection::AfterCompletions() {
  TakeMessages();
  if (!link_.broken().ok()) {
    AfterPost();
    return;
  }
  if (chains_ != nullptr) {
    chains_->PostWaiting();
  } else {
    stream_.Pump();
  }
  AfterPost();
}

void VerbsConnection::TakeMessages() {
  for (;;) {
    const std::span<const std::byte> received = link_.Received();
    if (received.empty()) return;
    std::string why = assembler_.Add(
        received,
        [this](LaneKind kind, std::span<const std::byte> body) { return TakeFrame(kind, body); });
    link_.Consume(received.size());
    if (why.empty()) continue;
    link_.Break(MakeStatus(absl::StatusCode::kFailedPrecondition,
                           "what the server sent is not the lane protocol: " + why));
    return;
  }
}

std::string VerbsConnection::TakeFrame(LaneKind kind, std::span<const std::byte> body) {
  if (kind == LaneKind::kChainReply) {
    return chains_ == nullptr ? "a reply to no chain" : chains_->OnReply(body);
  }
  if (frames_.size() >= kMostFrames) return "more than was asked for";
  frames_.push_back({kind, {body.begin(), body.end()}});
  return "";
}

void VerbsConnection::LookAtEvents() {
  while (std::optional<CmEvent> event = parts_.events.Next()) {
    if (absl::Status status = StatusOfEvent(*event); !status.ok()) BreakFrom(std::move(status));
  }
}

absl::Status VerbsConnection::StatusOfEvent(const CmEvent& event) const {
  switch (event.type) {
    case RDMA_CM_EVENT_DISCONNECTED:
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "the server (" + link_.peer() +
                            ") closed the connection: it has stopped, or it refused a message and "
                            "says why in its log; a new session reaches it once it runs again");
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "the adapter " + parts_.device.name +
                            " was removed from this host; a new session finds another path if "
                            "there is one");
    case RDMA_CM_EVENT_ADDR_CHANGE:
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "the address under which " + link_.peer() +
                            " was reached has moved to another adapter; open a new session");
    default:
      return absl::OkStatus();
  }
}

// A flush or a refused post is but the consequence of something; the adapter or the connection
// manager may know of what.
void VerbsConnection::BreakFromLink() {
  link_.Progress();
  const absl::StatusCode code = link_.broken().code();
  if (code == absl::StatusCode::kUnavailable) LookAtEvents();
  BreakFrom(link_.broken());
}

void VerbsConnection::BreakFrom(absl::Status why) {
  if (!broken_.ok()) return;
  broken_ = std::move(why);
  // What has completed by now is known to be done.
  link_.Progress();
  TakeMessages();
  link_.Break(broken_);
  parts_.pair.DestroyQueuePair();
  rdma_disconnect(parts_.id.get());
  if (chains_ != nullptr) chains_->FailAll();
}

void VerbsConnection::Wait(int64_t nanos) {
  if (!broken_.ok() || nanos <= 0 || SpinUntilSomething()) return;
  if (!armed_) {
    if (const int error = ibv_req_notify_cq(parts_.pair.cq(), 0); error != 0) {
      return BreakFrom(UnavailableFrom("asking for a completion event", error));
    }
    armed_ = true;
    // What completed before the request makes no event.
    const uint64_t before = link_.completions();
    Progress();
    if (link_.completions() != before || !broken_.ok()) return;
  }
  BlockUntilSomething(nanos);
}

bool VerbsConnection::SpinUntilSomething() {
  const uint32_t polls = alone_ ? kPollsWhereAlone : options_.spin_polls;
  const uint64_t before = link_.completions();
  for (uint32_t i = 0; i < polls; ++i) {
    if (alone_) {
      ::sched_yield();
    } else {
      Pause();
    }
    Progress();
    if (link_.completions() != before || !broken_.ok()) return true;
  }
  return false;
}

void VerbsConnection::BlockUntilSomething(int64_t nanos) {
  pollfd waited[2] = {{parts_.channel->fd, POLLIN, 0}, {parts_.events.fd(), POLLIN, 0}};
  const timespec timeout{static_cast<time_t>(nanos / 1'000'000'000),
                         static_cast<long>(nanos % 1'000'000'000)};
  const int ready = ::ppoll(waited, 2, &timeout, nullptr);
  if (ready < 0 && errno != EINTR) return BreakFrom(UnavailableFrom("waiting", errno));
  if (ready <= 0) return;
  if (waited[0].revents != 0) TakeCompletionEvents();
  if (waited[1].revents != 0) LookAtEvents();
}

void VerbsConnection::TakeCompletionEvents() {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(parts_.channel.get(), &cq, &context) != 0) return;
  parts_.pair.CountEvent();
  armed_ = false;
}

}  // namespace dunlin
