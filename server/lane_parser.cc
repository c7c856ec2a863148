#include "server/lane_parser.h"

#include <algorithm>
#include <cstring>

#include "common/base/check.h"

namespace dunlin {

void LaneParser::Append(std::span<const std::byte> bytes) {
  if (begin_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(begin_));
    ahead_ -= std::min(ahead_, begin_);
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

bool LaneParser::PeekAhead(size_t most, Frame& frame) {
  if (ahead_ < begin_ + frame_bytes_) {
    ahead_ = begin_ + frame_bytes_;
    frames_ahead_ = 0;
  }
  if (frames_ahead_ >= most || buffer_.size() - ahead_ < sizeof(LaneFrame)) return false;
  LaneFrame header;
  std::memcpy(&header, buffer_.data() + ahead_, sizeof header);
  const size_t bytes = sizeof header + size_t{header.bytes};
  if (buffer_.size() - ahead_ < bytes || !WhyNotAFrame(header).empty()) return false;
  frame.kind = static_cast<LaneKind>(header.kind);
  frame.body = {buffer_.data() + ahead_ + sizeof header, header.bytes};
  ahead_ += bytes;
  ++frames_ahead_;
  return true;
}

void LaneParser::Pop() {
  DUNLIN_CHECK(frame_bytes_ > 0 && frame_bytes_ <= buffered());
  begin_ += frame_bytes_;
  frame_bytes_ = 0;
  frames_ahead_ -= std::min<size_t>(frames_ahead_, 1);
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
    ahead_ = 0;
    // An idle session must not keep the room of its largest message.
    if (buffer_.capacity() > 65536) buffer_.shrink_to_fit();
  }
}

}  // namespace dunlin
