#pragma once

#include <cstdint>

#include "common/layout/size_class.h"
#include "common/layout/slot.h"

namespace dunlin {

// One use of one heap block: where it is, of which class, and the whole of the server's 16 bits of
// generation, of which a slot word carries the low 10.
//
//   bits 0..15 generation   bits 16..22 size class   bits 28..63 heap offset in units of 8 bytes
class BlockRef {
 public:
  constexpr BlockRef() = default;
  constexpr BlockRef(uint64_t heap_offset, SizeClass size_class, uint16_t generation)
      : raw_((heap_offset / kBlockUnit) << 28 | uint64_t{size_class} << 16 | generation) {}
  static constexpr BlockRef FromRaw(uint64_t raw) {
    BlockRef block;
    block.raw_ = raw;
    return block;
  }

  constexpr uint64_t heap_offset() const { return (raw_ >> 28) * kBlockUnit; }
  constexpr SizeClass size_class() const { return raw_ >> 16 & 127; }
  constexpr uint16_t generation() const { return static_cast<uint16_t>(raw_); }
  constexpr uint64_t raw() const { return raw_; }
  // The block word that a session gets: a slot word without fingerprint.
  constexpr SlotWord word() const {
    return SlotWord::Make(heap_offset(), size_class(), 0, generation());
  }
  friend constexpr bool operator==(BlockRef, BlockRef) = default;

 private:
  uint64_t raw_ = 0;
};
static_assert(sizeof(BlockRef) == 8);

}  // namespace dunlin
