#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/base/unique_fd.h"
#include "common/fabric/frame_port.h"

namespace dunlin {

// A FramePort on a connected stream socket.
class FrameStream final : public FramePort {
 public:
  // The socket blocks from then on: a wait can be the receive of what it waits for.
  explicit FrameStream(UniqueFd socket);

  // From now on chain replies may come at any time: each one's body goes to `take`, within a call
  // of this object that receives. An error from it breaks the stream.
  using TakeChainReply = std::function<absl::Status(std::span<const std::byte> body)>;
  void ExpectChainReplies(TakeChainReply take) { take_chain_reply_ = std::move(take); }
  // Receives what is there, which may only be chain replies. Doesn't wait.
  absl::Status ReceiveChainReplies();
  // Waits until something has come, or there is room to send if something waits to be sent, or the
  // time is over, or for no reason at all.
  void WaitFor(int64_t nanos);

  void Queue(LaneKind kind, std::span<const std::byte> fixed,
             std::span<const std::byte> array = {}) override;
  size_t unsent() const override { return out_.size() - sent_; }
  absl::Status SendNow() override;
  absl::Status SendUntil(size_t leave_unsent, Deadline deadline) override;
  absl::StatusOr<Frame> Receive(Deadline deadline, UniqueFd* descriptor) override;
  absl::Status CheckQuiet() override;
  absl::Status Break(absl::Status why) override;
  const absl::Status& broken() const override { return broken_; }
  uint64_t frames_sent() const override { return frames_sent_; }

 private:
  // DeadlineExceeded doesn't break the stream.
  absl::Status Await(short events, Deadline deadline);
  // False: the socket knows none.
  bool SetReceiveTimeout(int64_t nanos);
  absl::Status BreakByErrno(std::string_view doing, int error);
  absl::Status BreakAsClosed();
  absl::Status BreakAsUnasked();
  // Reads what is there, as much as there is room for. False if nothing is, or comes within the
  // socket's timeout if `flags` don't say MSG_DONTWAIT.
  absl::StatusOr<bool> ReceiveSome(UniqueFd* descriptor, int flags);
  // Whether the next frame is complete: then it is next_. Makes room for it otherwise.
  absl::StatusOr<bool> ParseNext();
  // Hands on the chain replies that are complete. True if another frame is behind them.
  absl::StatusOr<bool> TakeChainReplies();
  void MakeRoom(size_t bytes);
  size_t received() const { return end_ - begin_; }

  UniqueFd socket_;
  absl::Status broken_;
  TakeChainReply take_chain_reply_;
  std::vector<std::byte> out_;  // sent up to sent_
  size_t sent_ = 0;
  std::vector<std::byte> in_;  // received and not handed out: from begin_ to end_
  size_t begin_ = 0;
  size_t end_ = 0;
  bool drained_ = false;            // the last wait received all that there was
  int64_t receive_timeout_ns_ = 0;  // of the socket; 0: none
  LaneFrame next_{};
  uint64_t frames_sent_ = 0;
};

}  // namespace dunlin
