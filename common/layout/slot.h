#pragma once

#include <cstdint>

#include "common/layout/record.h"
#include "common/layout/size_class.h"

namespace dunlin {

// A slot of the index: one word, changed only by CAS. It names the one immutable record of a key.
//
//   bit 0        frozen      being moved by a split: readable, not changeable
//   bits 1..10   generation  low bits of the count of reuses of the block
//   bits 11..20  fingerprint of the key's hash, independent of the bits that choose the bucket
//   bits 21..27  size class  of the block; 0 = no record
//   bits 28..63  offset      of the block in the heap, in units of 8 bytes: 512 GiB a server
//
// The unit is 8 bytes, not 32, so that blocks may have any multiple of 8 as their size: a record of
// a 16-byte key and a 64-byte value then takes 104 bytes instead of 128.
class SlotWord {
 public:
  static constexpr int kGenerationShift = 1;
  static constexpr int kGenerationBits = 10;
  static constexpr int kFingerprintShift = 11;
  static constexpr int kFingerprintBits = 10;
  static constexpr int kClassShift = 21;
  static constexpr int kClassBits = 7;
  static constexpr int kOffsetShift = 28;
  static constexpr int kOffsetBits = 36;
  static_assert(kOffsetShift + kOffsetBits == 64);

  static constexpr uint64_t kGenerationMask = (uint64_t{1} << kGenerationBits) - 1;
  static constexpr uint64_t kFingerprintMask = (uint64_t{1} << kFingerprintBits) - 1;
  static constexpr uint64_t kClassMask = (uint64_t{1} << kClassBits) - 1;
  static constexpr uint64_t kFrozenBit = 1;
  static constexpr uint64_t kHeapLimit = (uint64_t{1} << kOffsetBits) * kBlockUnit;

  constexpr SlotWord() = default;
  explicit constexpr SlotWord(uint64_t raw) : raw_(raw) {}

  // `heap_offset` is a multiple of 8 below kHeapLimit.
  static constexpr SlotWord Make(uint64_t heap_offset, SizeClass size_class, uint32_t fingerprint,
                                 uint32_t generation) {
    return SlotWord((heap_offset / kBlockUnit) << kOffsetShift |
                    (size_class & kClassMask) << kClassShift |
                    (fingerprint & kFingerprintMask) << kFingerprintShift |
                    (generation & kGenerationMask) << kGenerationShift);
  }
  static constexpr SlotWord Empty() { return SlotWord(0); }
  // "Look again through a fresh directory". Class 0, so that it is never a live word.
  static constexpr SlotWord Moved() { return SlotWord(kFrozenBit); }

  constexpr uint64_t raw() const { return raw_; }
  constexpr bool empty() const { return raw_ == 0; }
  constexpr bool moved() const { return raw_ == kFrozenBit; }
  constexpr bool live() const { return IsBlockClass(size_class()); }
  // Neither empty nor MOVED nor a word that a client of this layout writes.
  constexpr bool corrupt() const { return !live() && !empty() && !moved(); }
  constexpr bool frozen() const { return (raw_ & kFrozenBit) != 0; }
  constexpr uint32_t generation() const { return raw_ >> kGenerationShift & kGenerationMask; }
  constexpr uint32_t fingerprint() const { return raw_ >> kFingerprintShift & kFingerprintMask; }
  constexpr SizeClass size_class() const { return raw_ >> kClassShift & kClassMask; }
  constexpr uint64_t heap_offset() const { return (raw_ >> kOffsetShift) * kBlockUnit; }

  // Whether the block lies in a heap of so many bytes. What a peer wrote is not trusted. REQUIRES:
  // live().
  constexpr bool InHeapOf(uint64_t heap_bytes) const {
    const uint64_t bytes = size_class() == kRunClass ? kPageBytes : BlockBytes(size_class());
    return heap_offset() + bytes <= heap_bytes;
  }
  // Whether it may be the slot of a key of this fingerprint.
  constexpr bool Names(uint32_t of_fingerprint, uint64_t heap_bytes) const {
    return fingerprint() == of_fingerprint && live() && InHeapOf(heap_bytes);
  }

  constexpr SlotWord Frozen() const { return SlotWord(raw_ | kFrozenBit); }
  constexpr SlotWord Thawed() const { return SlotWord(raw_ & ~kFrozenBit); }
  constexpr SlotWord WithFingerprint(uint32_t fingerprint) const {
    return SlotWord((raw_ & ~(kFingerprintMask << kFingerprintShift)) |
                    (fingerprint & kFingerprintMask) << kFingerprintShift);
  }
  // The same record, whether or not a split has frozen it in between.
  constexpr bool SameRecord(SlotWord other) const {
    return live() && Thawed().raw_ == other.Thawed().raw_;
  }
  friend constexpr bool operator==(SlotWord, SlotWord) = default;

 private:
  uint64_t raw_ = 0;
};
static_assert(sizeof(SlotWord) == 8);

// Whether a record with this header may be the one that the slot word names: else it was read too
// late, or is damaged.
constexpr bool IsRecordOf(RecordHeader header, SlotWord word) {
  return header.generation() == word.generation() && header.plausible() &&
         (word.size_class() == kRunClass || header.record_bytes() <= BlockBytes(word.size_class()));
}

// How much of a record is read at first: all of a block that is no longer than `whole`, else the
// first `head` bytes, with header and key.
constexpr uint32_t RecordReadBytes(SlotWord word, uint32_t whole, uint32_t head) {
  if (word.size_class() == kRunClass) return head;
  const uint32_t block = BlockBytes(word.size_class());
  return block <= whole ? block : head < block ? head : block;
}

}  // namespace dunlin
