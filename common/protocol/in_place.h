#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/prefetch.h"
#include "common/protocol/machine.h"
#include "common/protocol/record_view.h"

namespace dunlin {

// A get on a region that is mapped, for its most frequent ends: the key is there, unexpired, in a
// block of a slab. Everything else is left to Get, which does the same steps by chains.
//
// Each function reads the slot before the record. That is one of the orders in which a fabric may
// carry out Get's chains, and the conditions for accepting are Get's own, so whatever these return
// Get could have returned; the explorer's histories of Get cover them.

// A record that a slot named during this call; its checksum is not in `view`.
struct InPlace {
  RecordView view;
  Location found;
  const std::byte* value() const { return view.data + view.header.value_offset(); }
};

// Where the value lies is only known from the header: without this, its lines would be asked for
// when the header's has come.
inline void PrefetchRecord(const std::byte* record, SizeClass size_class) {
  constexpr uint32_t kMostBytes = 1024;
  const uint32_t block = BlockBytes(size_class);
  PrefetchBytes(record, block < kMostBytes ? block : kMostBytes);
}

// Whether `word`, just read from the slot at `slot_address`, names the key's record and it may be
// returned. `now` is the tick read before the slot was.
[[gnu::always_inline]] inline bool AcceptInPlace(const Geometry& g, const std::byte* base,
                                                 uint64_t slot_address, SlotWord word,
                                                 const Key& key, uint64_t now, InPlace* out) {
  if (!IsSlabClass(word.size_class())) return false;
  const uint32_t block = BlockBytes(word.size_class());
  if (word.heap_offset() + block > g.heap_bytes) return false;
  // What MatchRecord asks for, where it is all the same which of it fails.
  const std::byte* record = base + g.RecordAddress(word);
  const RecordHeader header(LoadWord(record));
  if (!header.IsOf(word.generation()) || header.key_bytes() != key.bytes ||
      header.record_bytes() > block ||
      !SameBytes(record + header.key_offset(), key.data, key.bytes)) {
    return false;
  }
  const uint64_t expiry = header.expires() ? LoadWord(record + kRecordPrefixBytes) : 0;
  if (Expired(expiry, now)) return false;
  out->view = {record, header, LoadWord(record + 8), 0, expiry};  // crossed no wire: no checksum
  out->found = {slot_address, word, out->view.version, expiry};
  return true;
}

// The record at a known location, if that is still current. Of the key bytes alone are looked at,
// not the hash.
[[gnu::always_inline]] inline bool FindKnownInPlace(const Geometry& g, const std::byte* base,
                                                    const Location& hint, const Key& key,
                                                    uint64_t now, InPlace* out) {
  if (hint.slot_address + kWordBytes > g.region_bytes) return false;
  SlotWord word(LoadWord(base + hint.slot_address));
  if (word.Thawed() != hint.word.Thawed()) return false;
  return AcceptInPlace(g, base, hint.slot_address, word, key, now, out);
}

// The record of a key in one of its slots. The slot is read once. False proves nothing.
[[gnu::always_inline]] inline bool FindSlotInPlace(const Geometry& g, const std::byte* base,
                                                   uint64_t slot_address, const Key& key,
                                                   uint64_t now, InPlace* out) {
  if (slot_address + kWordBytes > g.region_bytes) return false;
  const SlotWord word(LoadWord(base + slot_address));
  return word.fingerprint() == FingerprintOf(key.hash) &&
         AcceptInPlace(g, base, slot_address, word, key, now, out);
}

// The record of a key in either of its buckets. Each slot is read once. False proves nothing.
inline bool FindColdInPlace(const Geometry& g, const std::byte* base, const Placement& place,
                            const Key& key, uint64_t now, InPlace* out) {
  const uint64_t mask = SlotWord::kFingerprintMask << SlotWord::kFingerprintShift;
  const uint64_t want = uint64_t{FingerprintOf(key.hash)} << SlotWord::kFingerprintShift;
  for (uint64_t bucket : place.bucket) {
    if (bucket + g.bucket_bytes > g.region_bytes) return false;
    for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
      uint64_t address = g.SlotAddress(bucket, s);
      SlotWord word(LoadWord(base + address));
      if ((word.raw() & mask) != want) continue;
      if (IsSlabClass(word.size_class())) {
        PrefetchRecord(base + g.RecordAddress(word), word.size_class());
      }
      if (AcceptInPlace(g, base, address, word, key, now, out)) return true;
    }
  }
  return false;
}

// After the value was copied: the record was still the one that the slot named. `stamp` is the tick
// read before the slot was, `now` one read after the copy.
inline bool StillInPlace(const Geometry& g, const InPlace& in_place, uint64_t stamp, uint64_t now) {
  return now - stamp < g.grace / 2 &&
         LoadWordAfterReads(in_place.view.data) == in_place.view.header.raw();
}

// The put of a known key: [WRITE record, CAS slot] as stores into the mapping, in that order. True:
// the block is linked and what `hint` named is unlinked. False: the block was written and not
// linked, and nothing else is known. The key's hash is not looked at. REQUIRES: the block has room
// for the record.
[[gnu::always_inline]] inline bool PutKnownInPlace(const Geometry& g, std::byte* base,
                                                   const Location& hint, const Key& key,
                                                   const Block& block,
                                                   std::span<const std::byte> value,
                                                   uint64_t expiry, Location* found) {
  if (hint.word.frozen() || hint.slot_address + kWordBytes > g.region_bytes) return false;
  if (!InHeap(g, block.word)) return false;
  std::byte* record = base + g.RecordAddress(block.word);
  uint32_t head = ComposeHead(record, block, true, expiry, key, value);
  CopyBytes(record + head, value.data(), value.size());
  const SlotWord mine = block.word.WithFingerprint(hint.word.fingerprint());
  // A full barrier: who sees the slot sees the record.
  const uint64_t now = CompareSwapWord(base + hint.slot_address, hint.word.raw(), mine.raw());
  if (now != hint.word.raw()) {
    found->word = SlotWord(now);
    return false;
  }
  *found = {hint.slot_address, mine, block.version, expiry};
  return true;
}

}  // namespace dunlin
