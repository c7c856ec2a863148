#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/fabric/verbs/verbs_link.h"
#include "common/layout/lane.h"

namespace dunlin {

// Frames that wait to be sent as messages, in order.
class OutStream {
 public:
  explicit OutStream(VerbsLink* link) : link_(link) {}

  void AppendFrame(LaneKind kind, std::span<const std::byte> fixed,
                   std::span<const std::byte> array);
  // Whole frames.
  void AppendFrames(std::span<const std::byte> frames);
  size_t unsent() const { return bytes_.size() - sent_; }
  // Sends what there are credits and room for.
  void Pump();

 private:
  void DropSent();

  VerbsLink* const link_;
  std::vector<std::byte> bytes_;  // sent up to sent_
  size_t sent_ = 0;
};

// Appends a frame to `bytes`.
void AppendLaneFrame(LaneKind kind, std::span<const std::byte> fixed,
                     std::span<const std::byte> array, std::vector<std::byte>& bytes);

}  // namespace dunlin
