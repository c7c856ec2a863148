#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/layout/lane.h"

namespace dunlin {

// Frames out of a stream that comes in pieces. A frame that lies in one piece is not copied.
class FrameAssembler {
 public:
  // Given each frame; not empty: why it can't be taken.
  using Take = std::function<std::string(LaneKind kind, std::span<const std::byte> body)>;

  // Takes all of `piece`. Not empty: what came is not the lane protocol, and why.
  std::string Add(std::span<const std::byte> piece, const Take& take);

  // Whether a frame has begun and is not complete.
  bool in_frame() const { return !begun_.empty(); }

 private:
  std::vector<std::byte> begun_;
};

}  // namespace dunlin
