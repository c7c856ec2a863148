#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "common/base/check.h"
#include "common/fabric/verbs/work_requests.h"

namespace dunlin {

// Hands out pieces of a buffer in order and takes them back in the same order.
class StagingRing {
 public:
  // REQUIRES: a power of two.
  explicit StagingRing(uint32_t bytes) : bytes_(bytes) { DUNLIN_CHECK(std::has_single_bit(bytes)); }

  // Where `bytes` contiguous bytes start; none if they aren't free. REQUIRES: at most bytes().
  std::optional<uint32_t> Take(uint32_t bytes) {
    const uint64_t needed = StagingBytes(bytes);
    // Nothing is out: the whole buffer is to be had again. Marks only ever grow.
    if (head_ == tail_) head_ = tail_ = NextLap(head_);
    uint64_t at = head_;
    if (Place(at) + needed > bytes_) at = NextLap(at);
    if (at + needed - tail_ > bytes_) return std::nullopt;
    head_ = at + needed;
    return static_cast<uint32_t>(Place(at));
  }
  // For GiveBackTo: everything that was taken until now.
  uint64_t mark() const { return head_; }
  // Gives back what was taken until the mark was made.
  void GiveBackTo(uint64_t mark) {
    if (mark > tail_) tail_ = mark;
  }
  uint32_t bytes() const { return bytes_; }

 private:
  uint64_t Place(uint64_t at) const { return at & (bytes_ - 1); }
  uint64_t NextLap(uint64_t at) const { return (at + bytes_ - 1) & ~uint64_t{bytes_ - 1}; }

  const uint64_t bytes_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
};

}  // namespace dunlin
