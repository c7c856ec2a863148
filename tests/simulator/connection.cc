#include "tests/simulator/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/fabric/chain_frames.h"
#include "common/fabric/follow.h"
#include "common/fabric/on_mapping.h"

namespace dunlin::simulator {
namespace {

constexpr int64_t kPollNanos = 300;

}  // namespace

SimulatedConnection::SimulatedConnection(std::shared_ptr<Link> link, Process* process)
    : link_(std::move(link)), process_(*process) {}

SimulatedConnection::~SimulatedConnection() {
  DUNLIN_CHECK(channel_ == nullptr);
  link_->CloseClient();
}

std::unique_ptr<Channel> SimulatedConnection::OpenChannel(RegionAccess access) {
  return std::make_unique<SimulatedChannel>(this, std::move(access));
}

void SimulatedConnection::Queue(LaneKind kind, std::span<const std::byte> fixed,
                                std::span<const std::byte> array) {
  LaneFrame frame{};
  frame.bytes = static_cast<uint32_t>(fixed.size() + array.size());
  frame.kind = static_cast<uint16_t>(kind);
  out_.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  out_.append(reinterpret_cast<const char*>(fixed.data()), fixed.size());
  out_.append(reinterpret_cast<const char*>(array.data()), array.size());
  ++frames_sent_;
}

absl::Status SimulatedConnection::SendNow() {
  Look();
  if (broken_.ok()) link_->SendToServer(std::move(out_));
  out_.clear();
  return broken_;
}

absl::Status SimulatedConnection::SendUntil(size_t, Deadline) { return SendNow(); }

void SimulatedConnection::Look() {
  if (broken_.ok() && !link_->client_error().empty()) {
    Break(MakeStatus(absl::StatusCode::kUnavailable, link_->client_error())).IgnoreError();
  }
}

bool SimulatedConnection::NextFrame(LaneKind* kind) {
  std::string& inbox = link_->client_inbox();
  for (;;) {
    LaneFrame frame;
    if (inbox.size() < sizeof frame) return false;
    std::memcpy(&frame, inbox.data(), sizeof frame);
    DUNLIN_CHECK(WhyNotAFrame(frame).empty());
    if (inbox.size() < sizeof frame + frame.bytes) return false;
    frame_ = inbox.substr(sizeof frame, frame.bytes);
    inbox.erase(0, sizeof frame + frame.bytes);
    *kind = static_cast<LaneKind>(frame.kind);
    if (*kind != LaneKind::kChainReply) return true;
    if (channel_ != nullptr) channel_->TakeReply(std::as_bytes(std::span(frame_)));
  }
}

absl::StatusOr<FramePort::Frame> SimulatedConnection::Receive(Deadline deadline, UniqueFd*) {
  for (;;) {
    Look();
    if (!broken_.ok()) return broken_;
    LaneKind kind{};
    if (NextFrame(&kind)) return Frame{kind, std::as_bytes(std::span(frame_))};
    const int64_t left = deadline.NanosLeft();
    if (left == 0) return Break(absl::DeadlineExceededError("no answer in time"));
    process_.Block(left >= kNever / 2 ? kNever : process_.world_now() + left);
  }
}

absl::Status SimulatedConnection::CheckQuiet() {
  Look();
  LaneKind kind{};
  if (broken_.ok() && NextFrame(&kind)) {
    return Break(absl::FailedPreconditionError("a frame that nobody asked for"));
  }
  return broken_;
}

absl::Status SimulatedConnection::Break(absl::Status why) {
  if (!broken_.ok()) return broken_;
  broken_ = std::move(why);
  for (Chain* chain : link_->TakeBack()) {
    if (chain->outcome == ChainOutcome::kPending) chain->outcome = ChainOutcome::kUnknown;
    if (channel_ != nullptr) channel_->finished_.push_back(chain);
  }
  return broken_;
}

SimulatedChannel::SimulatedChannel(SimulatedConnection* connection, RegionAccess access)
    : connection_(*connection), access_(std::move(access)) {
  connection_.channel_ = this;
}

SimulatedChannel::~SimulatedChannel() {
  connection_.link_->Abandon();
  connection_.channel_ = nullptr;
}

void SimulatedChannel::Finish(Chain* chain) { finished_.push_back(chain); }

void SimulatedChannel::Post(Chain* chain) {
  connection_.process_.MayPause();
  DUNLIN_CHECK(posted_ < kDepth);
  DUNLIN_CHECK(chain->count >= 1 && chain->count <= kMaxWorks);
  ++posted_;
  connection_.Look();
  if (!connection_.broken().ok() ||
      !ChainAllowed(*chain, access_.region_bytes, access_.read_only) ||
      !ChainFitsFrames(*chain, 0)) {
    chain->outcome = ChainOutcome::kNotExecuted;
    return Finish(chain);
  }
  chain->outcome = ChainOutcome::kPending;
  chain->follow.wanted = chain->follow.wanted && access_.follows &&
                         connection_.link_->carrier() == Carrier::kFrames &&
                         MayFollow(*chain, access_.region_bytes);
  connection_.link_->Post(chain, [this](Chain* done) {
    done->outcome = ChainOutcome::kDone;
    Finish(done);
    connection_.process_.Wake();
  });
}

void SimulatedChannel::TakeReply(std::span<const std::byte> body) {
  std::deque<Chain*>& awaited = connection_.link_->awaited();
  DUNLIN_CHECK(!awaited.empty());
  Chain& chain = *awaited.front();
  awaited.pop_front();
  const uint32_t first = connection_.link_->carrier() == Carrier::kFrames ? 0 : FirstAtomic(chain);
  const std::string why = ApplyChainReply(chain, first, body);
  DUNLIN_CHECK(why.empty());
  chain.outcome = ChainOutcome::kDone;
  Finish(&chain);
}

uint32_t SimulatedChannel::Poll(Chain** finished, uint32_t max) {
  connection_.Look();
  LaneKind kind{};
  if (connection_.broken().ok() && connection_.NextFrame(&kind)) {
    Break(absl::FailedPreconditionError("a frame that nobody asked for"));
  }
  uint32_t n = 0;
  for (; n < max && !finished_.empty(); ++n) {
    finished[n] = finished_.front();
    finished_.pop_front();
  }
  posted_ -= n;
  // Whoever polls in vain lets a little time pass.
  if (n == 0 && posted_ != 0) connection_.process_.Pause(kPollNanos);
  return n;
}

void SimulatedChannel::WaitFor(int64_t nanos) {
  connection_.Look();
  if (posted_ == 0 || !finished_.empty() || !connection_.link_->client_inbox().empty()) return;
  connection_.process_.Pause(nanos);
}

}  // namespace dunlin::simulator
