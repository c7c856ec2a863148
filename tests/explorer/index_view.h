#pragma once

#include <cstdint>

#include "common/layout/geometry.h"
#include "common/layout/word.h"
#include "tests/explorer/world.h"

namespace dunlin::explorer {

constexpr uint64_t SubtableAddress(uint32_t number) { return uint64_t{number} * kSubtableStride; }

// Which word of its bucket lies at an address of the index: 0 is the header.
inline uint32_t PlaceInBucket(const Geometry& g, uint64_t address) {
  return static_cast<uint32_t>(address % kSubtableStride % g.bucket_bytes / kWordBytes);
}

// visit(address) for the first bucket of each subtable that the directory names.
template <typename Visit>
void ForEachSubtable(const Directory& directory, const Visit& visit) {
  for (uint32_t i = 0; i < 1u << directory.depth;) {
    const DirectoryEntry entry(directory.entries[i]);
    visit(entry.region_offset());
    i += 1u << (directory.depth - entry.depth());
  }
}

// visit(address, word) for each of their slots.
template <typename Visit>
void ForEachSlot(const World& world, const Geometry& g, const Visit& visit) {
  ForEachSubtable(world.directory, [&](uint64_t subtable) {
    for (uint32_t b = 0; b < kBuckets; ++b) {
      for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
        const uint64_t address = g.SlotAddress(subtable + uint64_t{b} * g.bucket_bytes, s);
        visit(address, SlotWord(PlainWord(world.region + address)));
      }
    }
  });
}

// Whether the directory names the subtable in which the address lies.
inline bool IsPublished(const Directory& directory, uint64_t address) {
  bool found = false;
  ForEachSubtable(directory, [&](uint64_t subtable) {
    found |= address / kSubtableStride == subtable / kSubtableStride;
  });
  return found;
}

}  // namespace dunlin::explorer
