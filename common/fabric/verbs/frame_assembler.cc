#include "common/fabric/verbs/frame_assembler.h"

#include <algorithm>
#include <cstring>

namespace dunlin {
namespace {

// The bytes of the frame that starts at `bytes`; the header's alone if there is no more yet.
size_t FrameBytes(std::span<const std::byte> bytes, LaneFrame* header) {
  if (bytes.size() < sizeof *header) return sizeof *header;
  std::memcpy(header, bytes.data(), sizeof *header);
  return sizeof *header + header->bytes;
}

}  // namespace

std::string FrameAssembler::Add(std::span<const std::byte> piece, const Take& take) {
  for (;;) {
    // Fill up what has begun, first to a header, then to the frame.
    LaneFrame header{};
    const size_t known = FrameBytes(begun_, &header);
    if (!begun_.empty() && begun_.size() < known) {
      const size_t more = std::min(known - begun_.size(), piece.size());
      begun_.insert(begun_.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(more));
      piece = piece.subspan(more);
      if (begun_.size() < known) return "";
    }
    const bool whole_in_piece = begun_.empty();
    const std::span<const std::byte> from = whole_in_piece ? piece : std::span(begun_);
    const size_t needed = FrameBytes(from, &header);
    if (from.size() >= sizeof header) {
      if (std::string why = WhyNotAFrame(header); !why.empty()) return why;
    }
    if (from.size() < needed) {
      if (piece.empty()) return "";
      if (whole_in_piece) {
        begun_.assign(piece.begin(), piece.end());
        return "";
      }
      continue;
    }
    const auto kind = static_cast<LaneKind>(header.kind);
    std::string why = take(kind, from.subspan(sizeof header, header.bytes));
    if (!why.empty()) return why;
    if (whole_in_piece) {
      piece = piece.subspan(needed);
    } else {
      begun_.clear();
    }
    if (piece.empty()) return "";
  }
}

}  // namespace dunlin
