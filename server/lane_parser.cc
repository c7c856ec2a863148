#include "server/lane_parser.h"

#include <cstring>

#include "common/base/check.h"

namespace dunlin {

void LaneParser::Append(std::span<const std::byte> bytes) {
  if (begin_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(begin_));
    begin_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

LaneParser::State LaneParser::Peek(Frame& frame) {
  if (!why_.empty()) return State::kBroken;
  if (buffered() < sizeof(LaneFrame)) return State::kNeedsMore;
  LaneFrame header;
  std::memcpy(&header, buffer_.data() + begin_, sizeof header);
  why_ = WhyNotAFrame(header);
  if (!why_.empty()) return State::kBroken;
  frame_bytes_ = sizeof header + header.bytes;
  if (buffered() < frame_bytes_) return State::kNeedsMore;
  frame.kind = static_cast<LaneKind>(header.kind);
  frame.body = {buffer_.data() + begin_ + sizeof header, header.bytes};
  return State::kFrame;
}

void LaneParser::Pop() {
  DUNLIN_CHECK(frame_bytes_ > 0 && frame_bytes_ <= buffered());
  begin_ += frame_bytes_;
  frame_bytes_ = 0;
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
    // An idle session must not keep the room of its largest message.
    if (buffer_.capacity() > 65536) buffer_.shrink_to_fit();
  }
}

}  // namespace dunlin
