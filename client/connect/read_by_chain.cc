#include "client/connect/read_by_chain.h"

#include <algorithm>

#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int64_t kLongestWait = 10'000'000;

absl::Status ReadPiece(Channel& channel, uint64_t offset, std::span<std::byte> to,
                       Deadline deadline) {
  Chain chain;
  chain.Read(offset, static_cast<uint32_t>(to.size()), 0).sink = to.data();
  channel.Post(&chain);
  Chain* finished = nullptr;
  // The chain is the channel's until it is handed back, whatever the deadline says.
  while (channel.Poll(&finished, 1) == 0) {
    const int64_t left = deadline.NanosLeft();
    if (left == 0) channel.Break(absl::DeadlineExceededError("the server did not answer in time"));
    channel.WaitFor(std::min(left, kLongestWait));
  }
  if (chain.outcome == ChainOutcome::kDone) return absl::OkStatus();
  if (!channel.broken().ok()) return channel.broken();
  return absl::InternalError("the fabric refused to read " + std::to_string(to.size()) +
                             " bytes at " + std::to_string(offset));
}

}  // namespace

absl::Status ReadByChain(Channel& channel, uint64_t offset, std::span<std::byte> to,
                         Deadline deadline) {
  while (!to.empty()) {
    const size_t piece = std::min(to.size(), kPieceBytes);
    DUNLIN_RETURN_IF_ERROR(ReadPiece(channel, offset, to.first(piece), deadline));
    offset += piece;
    to = to.subspan(piece);
  }
  return absl::OkStatus();
}

}  // namespace dunlin
