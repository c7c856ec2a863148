#pragma once

#include <cstdint>

#include "common/layout/bucket.h"
#include "common/layout/directory.h"
#include "common/layout/slot.h"
#include "common/layout/superblock.h"

namespace dunlin {

// Where things lie in one region. The only place that computes offsets. Addresses are byte offsets
// from the start of the region.
struct Geometry {
  uint64_t region_bytes = 0;
  uint64_t hash_seed = 0;
  uint32_t slots_per_bucket = kSlotsPerBucket;  // fewer in the explorer only
  uint32_t bucket_bytes = kBucketBytes;
  uint32_t bucket_mask = 0;  // buckets of a subtable - 1
  uint64_t heap_offset = 0;
  uint64_t heap_bytes = 0;
  uint32_t grace = 0;  // in ticks
  uint32_t max_key_bytes = 0;
  uint64_t max_value_bytes = 0;

  // REQUIRES: WhyNotUsable(superblock, ...) is empty.
  static Geometry Of(const Superblock& s) {
    Geometry g;
    g.region_bytes = s.region_bytes;
    g.hash_seed = s.hash_seed;
    g.slots_per_bucket = s.slots_per_bucket;
    g.bucket_bytes = kBucketBytes;
    g.bucket_mask = s.buckets_per_subtable - 1;
    g.heap_offset = s.heap_offset;
    g.heap_bytes = s.heap_bytes;
    g.grace = s.grace_ms;
    g.max_key_bytes = s.max_key_bytes;
    g.max_value_bytes = s.max_value_bytes;
    return g;
  }

  uint64_t RecordAddress(SlotWord word) const { return heap_offset + word.heap_offset(); }
  uint64_t SlotAddress(uint64_t bucket, uint32_t slot) const {
    return bucket + kWordBytes + uint64_t{slot} * kWordBytes;
  }
  uint64_t SubtableBytes() const { return (uint64_t{bucket_mask} + 1) * bucket_bytes; }
};

// How the 64 bits of a key's hash are used; no bit is used twice.
//   bits 0..15   first bucket     bits 16..31  second bucket
//   bits 32..41  fingerprint      bits 42..63  subtable, from the top
static_assert(32 + SlotWord::kFingerprintBits + kMaxDirectoryDepth == 64);

constexpr uint32_t FingerprintOf(uint64_t hash) { return hash >> 32 & SlotWord::kFingerprintMask; }

constexpr uint32_t PrefixOf(uint64_t hash, uint32_t depth) {
  return depth == 0 ? 0 : static_cast<uint32_t>(hash >> (64 - depth));
}

// Numbers of the two candidate buckets of a key in its subtable, whatever the subtable's depth.
struct BucketPair {
  uint32_t first;
  uint32_t second;
};
inline BucketPair BucketsOf(const Geometry& g, uint64_t hash) {
  const uint32_t first = hash & g.bucket_mask;
  const uint32_t second = hash >> 16 & g.bucket_mask;
  // Forced to differ: one bucket twice would halve the room and show every slot of it twice.
  return {first, second == first ? second ^ 1 : second};
}

// The two candidate buckets of a key, and the identity that both must bear.
struct Placement {
  uint64_t bucket[2] = {0, 0};
  BucketHeader free_header;
};

inline Placement Place(const Geometry& g, const DirectoryView& directory, uint64_t hash) {
  DirectoryEntry entry(directory.entries[PrefixOf(hash, directory.depth)]);
  const BucketPair number = BucketsOf(g, hash);
  Placement p;
  p.bucket[0] = entry.region_offset() + uint64_t{number.first} * g.bucket_bytes;
  p.bucket[1] = entry.region_offset() + uint64_t{number.second} * g.bucket_bytes;
  p.free_header = BucketHeader::Free(PrefixOf(hash, entry.depth()), entry.depth());
  return p;
}

}  // namespace dunlin
