#include "common/fabric/tcp/tcp_connection.h"

#include <string>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/fabric/chain_frames.h"
#include "common/fabric/follow.h"
#include "common/fabric/on_mapping.h"

namespace dunlin {

std::unique_ptr<Channel> TcpConnection::OpenChannel(RegionAccess access) {
  return std::make_unique<TcpChannel>(stream_, std::move(access));
}

TcpChannel::TcpChannel(FrameStream& stream, RegionAccess access)
    : stream_(stream), access_(std::move(access)) {
  stream_.ExpectChainReplies([this](std::span<const std::byte> body) { return TakeReply(body); });
}

TcpChannel::~TcpChannel() {
  stream_.ExpectChainReplies([](std::span<const std::byte>) { return absl::OkStatus(); });
}

bool TcpChannel::Sendable(const Chain& chain) const {
  return stream_.broken().ok() && ChainAllowed(chain, access_.region_bytes, access_.read_only) &&
         ChainFitsFrames(chain, 0);
}

void TcpChannel::Post(Chain* chain) {
  DUNLIN_CHECK(posted_ - handed_back_ < kDepth);
  DUNLIN_CHECK(chain->count >= 1 && chain->count <= kMaxWorks);
  chains_[posted_++ % kDepth] = chain;
  if (!Sendable(*chain)) {
    chain->outcome = ChainOutcome::kNotExecuted;
    return;
  }
  chain->outcome = ChainOutcome::kPending;
  chain->follow.wanted =
      chain->follow.wanted && access_.follows && MayFollow(*chain, access_.region_bytes);
  ComposeChainRequests(*chain, 0, buffer_, [this](std::span<const std::byte> body) {
    stream_.Queue(LaneKind::kChainRequest, body);
  });
}

// The server answers in the order of the requests.
absl::Status TcpChannel::TakeReply(std::span<const std::byte> body) {
  while (answered_ != posted_ && chains_[answered_ % kDepth]->outcome != ChainOutcome::kPending) {
    ++answered_;
  }
  if (answered_ == posted_) {
    return absl::FailedPreconditionError("the server answered a chain that was not sent");
  }
  Chain& chain = *chains_[answered_ % kDepth];
  if (const std::string why = ApplyChainReply(chain, 0, body); !why.empty()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "what the server sent is not the lane protocol: " + why);
  }
  chain.outcome = ChainOutcome::kDone;
  ++answered_;
  return absl::OkStatus();
}

uint32_t TcpChannel::Poll(Chain** finished, uint32_t max) {
  if (handed_back_ == posted_) return 0;
  // An error breaks the stream, which is looked at next.
  const bool sends = stream_.unsent() != 0;
  const bool all_new = sends && answered_ == sent_;
  if (sends) {
    stream_.SendNow().IgnoreError();
    sent_ = posted_;
  }
  // What was asked for just now can't have been answered.
  if (!all_new) stream_.ReceiveChainReplies().IgnoreError();
  const bool lost = !stream_.broken().ok();
  uint32_t n = 0;
  while (n < max && handed_back_ != posted_) {
    Chain* chain = chains_[handed_back_ % kDepth];
    if (chain->outcome == ChainOutcome::kPending) {
      if (!lost) break;
      chain->outcome = ChainOutcome::kUnknown;
    }
    finished[n++] = chain;
    // One that was refused may be handed back before its turn to be answered came.
    if (answered_ == handed_back_) ++answered_;
    ++handed_back_;
  }
  return n;
}

void TcpChannel::WaitFor(int64_t nanos) {
  if (handed_back_ == posted_ || !stream_.broken().ok()) return;
  if (chains_[handed_back_ % kDepth]->outcome != ChainOutcome::kPending) return;
  stream_.WaitFor(nanos);
}

}  // namespace dunlin
