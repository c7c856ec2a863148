#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "common/layout/word.h"

namespace dunlin {

// A bucket: a header word, then slots. 128 bytes, two cache lines, in every server.
inline constexpr uint32_t kSlotsPerBucket = 15;
inline constexpr uint32_t kBucketBytes = 128;
static_assert((kSlotsPerBucket + 1) * kWordBytes == kBucketBytes);

// Header word of a bucket, changed only by CAS: the identity of its subtable, and the lock.
//
//   bits 0..4    depth + 1 of the subtable (0: no subtable lives here)
//   bits 5..28   prefix: the first `depth` bits of the hashes that live here
//   bits 29..52  owner of the lock: a session's id, 0 = free
//   bits 53..63  number of the owner's operation, for two operations of one session may meet here
//
// The free word is a function of the identity alone, so a client can guess the operand of its lock
// CAS from its directory. A held word keeps the identity: readers need it for "not found" and do
// not wait for locks.
class BucketHeader {
 public:
  static constexpr int kDepthBits = 5;
  static constexpr int kPrefixShift = 5;
  static constexpr int kPrefixBits = 24;
  static constexpr int kOwnerShift = 29;
  static constexpr int kOwnerBits = 24;
  static constexpr int kOperationShift = 53;
  static constexpr int kOperationBits = 11;
  static_assert(kOperationShift + kOperationBits == 64);
  static constexpr uint64_t kIdentityMask = (uint64_t{1} << kOwnerShift) - 1;
  static constexpr uint32_t kMaxOwner = (1u << kOwnerBits) - 1;
  static constexpr uint32_t kMaxOperation = (1u << kOperationBits) - 1;

  constexpr BucketHeader() = default;
  explicit constexpr BucketHeader(uint64_t raw) : raw_(raw) {}

  // REQUIRES: depth <= 24 and prefix < 2^depth.
  static constexpr BucketHeader Free(uint32_t prefix, uint32_t depth) {
    return BucketHeader(uint64_t{prefix} << kPrefixShift | (depth + 1));
  }
  // The lock of the same subtable, held. REQUIRES: 1 <= owner <= kMaxOwner.
  constexpr BucketHeader HeldBy(uint32_t owner, uint32_t operation) const {
    return BucketHeader(Unheld().raw_ | uint64_t{owner} << kOwnerShift |
                        uint64_t{operation & kMaxOperation} << kOperationShift);
  }

  // The free word of the same subtable.
  constexpr BucketHeader Unheld() const { return BucketHeader(raw_ & kIdentityMask); }

  constexpr uint64_t raw() const { return raw_; }
  constexpr bool SameIdentity(BucketHeader other) const {
    return ((raw_ ^ other.raw_) & kIdentityMask) == 0;
  }
  constexpr bool formatted() const { return (raw_ & 31) != 0; }
  constexpr uint32_t depth() const { return (raw_ & 31) - 1; }
  constexpr uint32_t prefix() const {
    return raw_ >> kPrefixShift & ((uint64_t{1} << kPrefixBits) - 1);
  }
  constexpr uint32_t owner() const { return raw_ >> kOwnerShift & kMaxOwner; }
  constexpr uint32_t operation() const { return static_cast<uint32_t>(raw_ >> kOperationShift); }
  constexpr bool held() const { return owner() != 0; }
  friend constexpr bool operator==(BucketHeader, BucketHeader) = default;

 private:
  uint64_t raw_ = 0;
};
static_assert(sizeof(BucketHeader) == 8);

// A free slot in the emptier one of two buckets of so many slots each, of which copies lie at
// `first` and `second`. REQUIRES: slots <= 31.
struct FreePlace {
  bool found = false;
  uint32_t bucket = 0;
  uint32_t slot = 0;
};
inline FreePlace FreePlaceIn(const std::byte* first, const std::byte* second, uint32_t slots) {
  uint32_t empty[2] = {0, 0};  // bit s: slot s
  for (uint32_t s = 0; s < slots; ++s) {
    empty[0] |= uint32_t{PlainWord(first + (s + 1) * kWordBytes) == 0} << s;
    empty[1] |= uint32_t{PlainWord(second + (s + 1) * kWordBytes) == 0} << s;
  }
  const uint32_t b = std::popcount(empty[1]) > std::popcount(empty[0]) ? 1 : 0;
  if (empty[b] == 0) return {};
  return {true, b, static_cast<uint32_t>(std::countr_zero(empty[b]))};
}

}  // namespace dunlin
