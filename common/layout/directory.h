#pragma once

#include <cstdint>

namespace dunlin {

// The directory maps the first `depth` bits of a key's hash to a subtable. It is an array of
// 2^depth words in the region; the root word in the superblock says where, and is replaced whole
// when a new directory is published.

// Where the directory lies.
//   bits 0..31   offset in the region, in pages of 4 KiB
//   bits 32..39  depth
//   bits 40..63  epoch: grows with each publication, so that a change is always seen
class DirectoryRoot {
 public:
  explicit constexpr DirectoryRoot(uint64_t raw) : raw_(raw) {}
  static constexpr DirectoryRoot Make(uint64_t region_offset, uint32_t depth, uint32_t epoch) {
    return DirectoryRoot(region_offset / 4096 | uint64_t{depth} << 32 |
                         uint64_t{epoch & 0xFFFFFFu} << 40);
  }
  constexpr uint64_t raw() const { return raw_; }
  constexpr uint64_t region_offset() const { return (raw_ & 0xFFFFFFFFu) * 4096; }
  constexpr uint32_t depth() const { return raw_ >> 32 & 0xFF; }
  constexpr uint32_t epoch() const { return static_cast<uint32_t>(raw_ >> 40); }

 private:
  uint64_t raw_;
};

// One entry: a subtable.
//   bits 0..39   offset of its first bucket in the region, in units of 128 bytes
//   bits 40..44  depth of the subtable, at most that of the directory
//   bits 45..63  zero
class DirectoryEntry {
 public:
  explicit constexpr DirectoryEntry(uint64_t raw) : raw_(raw) {}
  static constexpr DirectoryEntry Make(uint64_t region_offset, uint32_t depth) {
    return DirectoryEntry(region_offset / 128 | uint64_t{depth & 31} << 40);
  }
  constexpr uint64_t raw() const { return raw_; }
  constexpr uint64_t region_offset() const { return (raw_ & 0xFFFFFFFFFFu) * 128; }
  constexpr uint32_t depth() const { return raw_ >> 40 & 31; }

 private:
  uint64_t raw_;
};

inline constexpr uint32_t kMaxDirectoryDepth = 22;

// Directories of different depths lie side by side in the directory area, each on pages of its own,
// and none is ever given to another: a reader of an old one reads what was true once. Bytes from
// the area's start; those of depth + 1 begin where that of `depth` ends.
constexpr uint64_t DirectoryPlace(uint32_t depth) {
  constexpr uint32_t kOnePage = 9;  // 2^9 entries fill a page
  if (depth <= kOnePage) return uint64_t{depth} * 4096;
  return (uint64_t{kOnePage} + (uint64_t{1} << (depth - kOnePage)) - 1) * 4096;
}
static_assert(DirectoryPlace(9) == 9 * 4096 && DirectoryPlace(10) == 10 * 4096);
static_assert(DirectoryPlace(11) == 12 * 4096 && DirectoryPlace(12) == 16 * 4096);

// A private copy of the directory, as a session holds it. The entries belong to the holder.
struct DirectoryView {
  const uint64_t* entries = nullptr;
  uint32_t depth = 0;
  uint32_t epoch = 0;
};

}  // namespace dunlin
