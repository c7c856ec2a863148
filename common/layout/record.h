#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "common/layout/word.h"

namespace dunlin {

// A record: header, key, value, in one heap block. Immutable once a slot points to it.
//
//   offset 0   header word (below)
//   offset 8   version
//   offset 16  checksum (layout/checksum.h)
//   offset 24  expiry, in ticks; there only if the header word says so
//   then       key, then value, without padding between them
struct RecordPrefix {
  uint64_t header;
  uint64_t version;
  uint64_t checksum;
};
static_assert(sizeof(RecordPrefix) == 24 && offsetof(RecordPrefix, checksum) == 16);
static_assert(std::is_trivially_copyable_v<RecordPrefix>);
static_assert(std::has_unique_object_representations_v<RecordPrefix>);

inline constexpr uint32_t kRecordPrefixBytes = sizeof(RecordPrefix);
inline constexpr uint32_t kExpiryBytes = 8;
// What has to be read of a record to compare a key of n bytes is at most this much and n more.
inline constexpr uint32_t kMaxRecordHead = kRecordPrefixBytes + kExpiryBytes;

inline constexpr uint32_t kMaxKeyBytes = 65535;
// What the header word can say is 4 GiB; a server sets its own, lower limit (superblock).
inline constexpr uint64_t kHardMaxValueBytes = uint64_t{1} << 30;

// Header word of a record.
//
//   bits 0..9    generation of the block, equal to that of the slot word
//   bit 10       unconditional: written by a put that relied on nothing it replaced
//   bit 11       has an expiry
//   bits 12..15  zero
//   bits 16..31  bytes of the key
//   bits 32..63  bytes of the value
class RecordHeader {
 public:
  static constexpr uint64_t kGenerationMask = 1023;
  static constexpr uint64_t kUnconditionalBit = uint64_t{1} << 10;
  static constexpr uint64_t kExpiryBit = uint64_t{1} << 11;
  static constexpr uint64_t kReservedMask = uint64_t{15} << 12;

  explicit constexpr RecordHeader(uint64_t raw) : raw_(raw) {}
  static constexpr RecordHeader Make(uint32_t generation, bool unconditional, bool expires,
                                     uint32_t key_bytes, uint32_t value_bytes) {
    return RecordHeader((generation & kGenerationMask) | (unconditional ? kUnconditionalBit : 0) |
                        (expires ? kExpiryBit : 0) | uint64_t{key_bytes & 0xFFFFu} << 16 |
                        uint64_t{value_bytes} << 32);
  }
  constexpr uint64_t raw() const { return raw_; }
  constexpr uint32_t generation() const { return raw_ & kGenerationMask; }
  constexpr bool unconditional() const { return (raw_ & kUnconditionalBit) != 0; }
  constexpr bool expires() const { return (raw_ & kExpiryBit) != 0; }
  constexpr uint32_t key_bytes() const { return raw_ >> 16 & 0xFFFF; }
  constexpr uint32_t value_bytes() const { return static_cast<uint32_t>(raw_ >> 32); }
  constexpr uint32_t key_offset() const {
    return kRecordPrefixBytes + (expires() ? kExpiryBytes : 0);
  }
  constexpr uint32_t value_offset() const { return key_offset() + key_bytes(); }
  constexpr uint64_t record_bytes() const { return uint64_t{value_offset()} + value_bytes(); }
  // Of a record of a block of that generation. Of the lengths it says nothing.
  constexpr bool IsOf(uint32_t generation) const {
    return ((raw_ ^ generation) & (kGenerationMask | kReservedMask)) == 0;
  }
  // Nothing else is believed of a header that fails this.
  constexpr bool plausible() const {
    return (raw_ & kReservedMask) == 0 && key_bytes() != 0 && value_bytes() <= kHardMaxValueBytes;
  }

 private:
  uint64_t raw_;
};

// Bytes of a record of that key and value.
constexpr uint64_t RecordBytes(uint64_t key_bytes, uint64_t value_bytes, bool expires) {
  return kRecordPrefixBytes + (expires ? kExpiryBytes : 0) + key_bytes + value_bytes;
}

}  // namespace dunlin
