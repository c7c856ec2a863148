#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/lane/deadline.h"
#include "common/base/unique_fd.h"
#include "common/layout/lane.h"

namespace dunlin {

// Frames of layout/lane.h over a connected stream socket, for the side that asks: nothing comes but
// what was asked for. Not thread safe. Every call sets a deadline or doesn't wait at all.
//
// An error of the socket or of the peer breaks the stream: broken() keeps the first one, and later
// calls answer with it.
class FrameStream {
 public:
  explicit FrameStream(UniqueFd socket) : socket_(std::move(socket)) {}

  // Puts a frame behind those that wait to be sent; its body is `fixed`, then `array`.
  // REQUIRES: together at most kMaxLaneBody bytes.
  void Queue(LaneKind kind, std::span<const std::byte> fixed,
             std::span<const std::byte> array = {});
  size_t unsent() const { return out_.size() - sent_; }

  // Sends what the socket takes at once.
  absl::Status SendNow();
  // Sends until at most `leave_unsent` bytes wait. DeadlineExceeded doesn't break the stream.
  absl::Status SendUntil(size_t leave_unsent, Deadline deadline);

  struct Frame {
    LaneKind kind;
    std::span<const std::byte> body;  // valid until the next call
  };
  // One frame, and nothing behind it. A descriptor that comes along is moved to `descriptor`, or
  // closed if that is null.
  absl::StatusOr<Frame> Receive(Deadline deadline, UniqueFd* descriptor);

  // Breaks the stream unless it is open with nothing to read, as it should be between exchanges.
  absl::Status CheckQuiet();

  // Keeps the first reason; returns broken().
  absl::Status Break(absl::Status why);
  const absl::Status& broken() const { return broken_; }

  uint64_t frames_sent() const { return frames_sent_; }

 private:
  // DeadlineExceeded doesn't break the stream.
  absl::Status WaitFor(short events, Deadline deadline);
  absl::Status BreakByErrno(std::string_view doing, int error);
  absl::Status BreakAsClosed();
  // Reads what is there, up to in_.size(). False if nothing is.
  absl::StatusOr<bool> ReceiveSome(UniqueFd* descriptor);
  // The size of the frame under way as far as it is known.
  absl::StatusOr<size_t> BytesNeeded();

  UniqueFd socket_;
  absl::Status broken_;
  std::vector<std::byte> out_;  // sent up to sent_
  size_t sent_ = 0;
  std::vector<std::byte> in_;  // filled up to received_
  size_t received_ = 0;
  uint64_t frames_sent_ = 0;
};

}  // namespace dunlin
