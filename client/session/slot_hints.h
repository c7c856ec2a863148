#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/prefetch.h"
#include "common/layout/geometry.h"

namespace dunlin {

// Which of the slots that a key may have it has, and where its record is, in one word.
//
//   bits 0..15   tag: of the key's hash
//   bits 16..19  slot in the bucket
//   bit 20       second bucket
//   bits 21..63  size class and offset of the record's block, as in the slot
class SlotHint {
 public:
  static constexpr uint64_t kTagMask = 0xFFFF;

  constexpr SlotHint() = default;
  // `tag`: within kTagMask.
  constexpr SlotHint(uint64_t tag, uint32_t bucket, uint32_t slot, SlotWord word)
      : raw_(tag | uint64_t{slot & 15} << kSlotShift | uint64_t{bucket & 1} << kBucketShift |
             BlockOf(word).raw()) {}
  // Of a slot's word, size class and offset.
  static constexpr SlotWord BlockOf(SlotWord word) { return SlotWord(word.raw() & kBlockMask); }

  constexpr bool known() const { return !block().empty(); }
  constexpr uint64_t tag() const { return raw_ & kTagMask; }
  constexpr uint32_t bucket() const { return raw_ >> kBucketShift & 1; }
  constexpr uint32_t slot() const { return raw_ >> kSlotShift & 15; }
  constexpr SlotWord block() const { return BlockOf(SlotWord(raw_)); }
  // The same slot has another record.
  constexpr void Renew(SlotWord word) { raw_ = (raw_ & ~kBlockMask) | BlockOf(word).raw(); }

 private:
  static constexpr int kSlotShift = 16;
  static constexpr int kBucketShift = 20;
  static constexpr uint64_t kBlockMask = ~uint64_t{0} << SlotWord::kClassShift;
  static_assert(kBucketShift + 1 == SlotWord::kClassShift && kSlotsPerBucket <= 16);

  uint64_t raw_ = 0;
};

// The location cache of a session that has the index in its own memory: 8 bytes a key, so that it
// is a small part of what it saves a look at. A hint decides nothing. It says which slot to look at
// first and lets the record's lines come together with the slot's; what is there is believed or not
// under the rules of a get that looks into all slots. So it may be of any age, of a directory that
// has been replaced, or of another key.
//
// Sets of eight, one line each. A key has a place of its own in its set, and takes the next free
// one when that is taken; in a full set it takes its own. Belongs to one session. Not thread safe.
class SlotHints {
 public:
  SlotHints() = default;
  // Under one line of 64 bytes there are none.
  explicit SlotHints(uint64_t bytes);

  void Prefetch(uint64_t hash) const {
    if (lines_ != nullptr) PrefetchLine(LineOf(hash));
  }
  // Null if there is none. To be renewed, too: after another key was remembered it may be that
  // one's, which then has a wrong hint.
  SlotHint* Find(uint64_t hash) const {
    if (lines_ == nullptr) return nullptr;
    SlotHint* const hints = LineOf(hash)->hints;
    const uint32_t home = HomeOf(hash);
    for (uint32_t n = home; n < home + kWays; ++n) {
      SlotHint& hint = hints[n % kWays];
      if (hint.tag() == TagOf(hash) && hint.known()) return &hint;
    }
    return nullptr;
  }
  // The key of that hash was found in a slot of its `place`.
  void Remember(uint64_t hash, const Placement& place, const Geometry& geometry,
                uint64_t slot_address, SlotWord word);
  void Forget(uint64_t hash);
  void Clear();

 private:
  static constexpr uint32_t kWays = 8;
  struct alignas(64) Line {
    SlotHint hints[kWays];
  };
  struct Free {
    void operator()(Line* lines) const;
  };

  // Of any number of lines one by the hash's lowest 32 bits, which leave the tag its own.
  Line* LineOf(uint64_t hash) const { return lines_.get() + ((hash & 0xFFFFFFFFu) * count_ >> 32); }
  static constexpr uint64_t TagOf(uint64_t hash) { return hash >> 48; }
  static constexpr uint32_t HomeOf(uint64_t hash) { return hash >> 45 & (kWays - 1); }
  SlotHint& PlaceFor(uint64_t hash) const;

  std::unique_ptr<Line[], Free> lines_;
  uint64_t count_ = 0;
};

}  // namespace dunlin
