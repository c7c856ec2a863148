#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/base/unique_fd.h"
#include "common/layout/lane.h"

namespace dunlin {

// A session's end of its lane: frames of layout/lane.h, both ways, in order. For the side that
// asks: no frame comes but what was asked for. Frames of kind kChainReply, which answer chains, are
// kept for the channel on the same connection and never handed out here. Not thread safe. Every
// call has a deadline or doesn't wait at all.
//
// An error of the connection or of the peer breaks the port: broken() keeps the first one, and
// later calls answer with it. Codes: Unavailable (the connection is gone), DeadlineExceeded (in
// Receive: a reply that comes later would be taken for another's), FailedPrecondition (what came is
// not the lane protocol).
class FramePort {
 public:
  virtual ~FramePort() = default;

  // Puts a frame behind those that wait to be sent; its body is `fixed`, then `array`, both copied.
  // REQUIRES: together at most kMaxLaneBody bytes.
  virtual void Queue(LaneKind kind, std::span<const std::byte> fixed,
                     std::span<const std::byte> array = {}) = 0;
  // Bytes that wait.
  virtual size_t unsent() const = 0;

  // Sends what the connection takes at once.
  virtual absl::Status SendNow() = 0;
  // Sends until at most `leave_unsent` bytes wait. DeadlineExceeded doesn't break the port.
  virtual absl::Status SendUntil(size_t leave_unsent, Deadline deadline) = 0;

  struct Frame {
    LaneKind kind;
    std::span<const std::byte> body;  // valid until the next call
  };
  // One frame, and no other behind it. A descriptor that comes along (Unix sockets only) is moved
  // to `descriptor`, or closed if that is null.
  virtual absl::StatusOr<Frame> Receive(Deadline deadline, UniqueFd* descriptor) = 0;

  // Breaks the port unless it is open with nothing to read, as it should be between exchanges.
  virtual absl::Status CheckQuiet() = 0;

  // Keeps the first reason; returns broken().
  virtual absl::Status Break(absl::Status why) = 0;
  virtual const absl::Status& broken() const = 0;

  virtual uint64_t frames_sent() const = 0;
};

}  // namespace dunlin
