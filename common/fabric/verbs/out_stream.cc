#include "common/fabric/verbs/out_stream.h"

namespace dunlin {

void AppendLaneFrame(LaneKind kind, std::span<const std::byte> fixed,
                     std::span<const std::byte> array, std::vector<std::byte>& bytes) {
  LaneFrame frame{};
  frame.bytes = static_cast<uint32_t>(fixed.size() + array.size());
  frame.kind = static_cast<uint16_t>(kind);
  const auto header = std::as_bytes(std::span(&frame, 1));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), fixed.begin(), fixed.end());
  bytes.insert(bytes.end(), array.begin(), array.end());
}

void OutStream::AppendFrame(LaneKind kind, std::span<const std::byte> fixed,
                            std::span<const std::byte> array) {
  DropSent();
  AppendLaneFrame(kind, fixed, array, bytes_);
}

void OutStream::AppendFrames(std::span<const std::byte> frames) {
  DropSent();
  bytes_.insert(bytes_.end(), frames.begin(), frames.end());
}

void OutStream::DropSent() {
  if (sent_ == 0) return;
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(sent_));
  sent_ = 0;
}

void OutStream::Pump() {
  if (unsent() == 0) return;
  sent_ += link_->Send(std::span(bytes_).subspan(sent_));
  if (unsent() != 0) return;
  bytes_.clear();
  sent_ = 0;
}

}  // namespace dunlin
