#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/layout/lane.h"

namespace dunlin {

// Cuts the byte stream of a lane into frames. Holds at most one frame's worth of bytes and what
// came behind it. Not thread safe.
class LaneParser {
 public:
  struct Frame {
    LaneKind kind;
    std::span<const std::byte> body;  // until the next call that isn't const
  };
  enum class State { kNeedsMore, kFrame, kBroken };

  void Append(std::span<const std::byte> bytes);
  // Whether a whole frame has come. kBroken is for good: why() says what is wrong with the stream.
  State Peek(Frame& frame);
  // Shows the whole frames behind the one that Peek shows, each once, no more than `most` ahead of
  // it. False: there is none now. REQUIRES: Peek showed a frame.
  bool PeekAhead(size_t most, Frame& frame);
  // Drops the frame that Peek showed.
  void Pop();

  const std::string& why() const { return why_; }
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;
  size_t frame_bytes_ = 0;  // of the frame at begin_, once its header has come
  size_t ahead_ = 0;        // where the next frame for PeekAhead begins, if that is behind begin_
  size_t frames_ahead_ = 0;
  std::string why_;
};

}  // namespace dunlin
