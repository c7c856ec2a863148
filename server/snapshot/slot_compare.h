#pragma once

#include <cstddef>
#include <cstdint>

#include "common/layout/bucket.h"

namespace dunlin {

// What the last snapshot saw of a subtable's buckets, without the empty slots: for each bucket a
// mask of its slots in use, and the words of all of them one after another. A word that equals no
// live word (class 0) never compares equal.
struct PackedBuckets {
  const uint16_t* masks = nullptr;  // bit s: slot s
  // Thawed. kWordsPadding more may be read behind the last one.
  const uint64_t* words = nullptr;
};
inline constexpr uint32_t kWordsPadding = kSlotsPerBucket + 1;

// Compares `count` buckets (at most 64) with their packed copies, frozen words as if they were not,
// and MOVED as empty. Returns a bit for each bucket that differs, and moves `packed` on behind the
// last. `buckets`: an index that clients change meanwhile; each word is read whole.
using CompareBuckets = uint64_t (*)(const std::byte* buckets, uint32_t count,
                                    PackedBuckets& packed);

uint64_t CompareBucketsPlainly(const std::byte* buckets, uint32_t count, PackedBuckets& packed);

struct NamedCompare {
  const char* name;  // for people
  CompareBuckets compare;
};
// The fastest that this processor can do.
NamedCompare FastestCompare();

// Each of them, the fastest first; those that this processor can't do are left out.
uint32_t ListCompares(NamedCompare (&list)[3]);

}  // namespace dunlin
