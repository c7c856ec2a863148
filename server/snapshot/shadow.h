#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "common/layout/slot.h"
#include "server/index/index_space.h"
#include "server/snapshot/slot_compare.h"

namespace dunlin {

// A record's tag (common/snapshot/snapshot_tag.h) without the fingerprint, which its slot word
// bears: 22 bits of position, then 10 of the first bucket.
class ShadowTag {
 public:
  static constexpr int kPositionBits = kMaxDirectoryDepth;
  static constexpr int kLowBits = 10;
  static_assert(kPositionBits + kLowBits == 32);

  ShadowTag() = default;
  static constexpr ShadowTag Of(uint64_t tag) {
    return ShadowTag(static_cast<uint32_t>(tag >> 20 << kLowBits | (tag & 1023)));
  }
  constexpr uint64_t Tag(SlotWord word) const {
    return uint64_t{raw_ >> kLowBits} << 20 | uint64_t{word.fingerprint()} << kLowBits |
           (raw_ & 1023);
  }
  constexpr uint32_t position() const { return raw_ >> kLowBits; }

 private:
  explicit constexpr ShadowTag(uint32_t raw) : raw_(raw) {}
  uint32_t raw_ = 0;
};

// The position of a tag in the hash space.
constexpr uint32_t PositionOfTag(uint64_t tag) { return static_cast<uint32_t>(tag >> 20); }

// One subtable as the last pass wrote it: 12 bytes and a bit for each record.
struct ShadowTable {
  uint32_t prefix = 0;
  uint32_t depth = 0;
  // The records lie by bucket and slot; otherwise, after a split, in any order.
  bool ordered = true;
  uint64_t pass = 0;            // the last pass that wrote something of it
  uint64_t seen_tick = 0;       // when all its words were last compared, or later
  std::vector<uint16_t> masks;  // a bucket each, if ordered
  // Thawed. Stale() if the record is to be written again; the frozen bit is set in what `pass`
  // wrote. Padded (kWordsPadding) if ordered.
  std::vector<uint64_t> words;
  std::vector<ShadowTag> tags;
  // Tags whose entries the next pass is to write, or to delete, whatever it finds: always, and if
  // `pass` came to nothing.
  std::vector<uint64_t> again;
  std::vector<uint64_t> again_if_failed;

  size_t records() const { return tags.size(); }
  // Nobody can tell any more what of it is on disk.
  void MakeAllStale();
  void Pad() { words.insert(words.end(), kWordsPadding, 0); }
};

// A word of no class: equal to no record's, but the fingerprint is kept.
constexpr uint64_t StaleWord(SlotWord word) {
  return uint64_t{word.fingerprint()} << SlotWord::kFingerprintShift;
}

// A table on the way: records by slot, until they are packed.
class TableScratch {
 public:
  // All slots of a subtable, empty, or filled from `t` (REQUIRES: ordered).
  void Clear(uint32_t buckets);
  void Fill(uint32_t buckets, const ShadowTable& t);

  void Keep(uint32_t slot, uint64_t word, ShadowTag tag) {
    words_[slot] = word;
    tags_[slot] = tag;
  }
  void Drop(uint32_t slot) { words_[slot] = 0; }
  bool empty(uint32_t slot) const { return words_[slot] == 0; }
  uint64_t TagAt(uint32_t slot) const { return tags_[slot].Tag(SlotWord(words_[slot])); }
  uint32_t slots() const { return static_cast<uint32_t>(words_.size()); }

  // Puts what is here in the place of t's records.
  void PackInto(ShadowTable& t) const;
  uint64_t bytes() const { return words_.capacity() * 8 + tags_.capacity() * sizeof(ShadowTag); }

 private:
  std::vector<uint64_t> words_;
  std::vector<ShadowTag> tags_;
};

// The copy of the index that snapshots are compared with. Not thread safe.
class Shadow {
 public:
  explicit Shadow(uint32_t buckets) : buckets_(buckets) {}

  // The table of `s`, made out of that of a shallower one if `s` was split since, or empty if there
  // is none. Valid until the next call.
  ShadowTable& TableOf(const IndexSpace::Subtable& s);

  // Sums over all tables.
  uint64_t records() const;
  uint64_t bytes() const;
  uint64_t tables() const { return tables_.size(); }

  // Forgets everything.
  void Clear() { tables_.clear(); }

 private:
  void Split(std::map<uint32_t, ShadowTable>::iterator at);
  ShadowTable Empty(uint32_t prefix, uint32_t depth) const;

  const uint32_t buckets_;                  // of a subtable
  std::map<uint32_t, ShadowTable> tables_;  // by their first position
};

}  // namespace dunlin
