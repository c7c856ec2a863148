#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/layout/record.h"
#include "common/layout/slot.h"
#include "server/index/index_space.h"
#include "server/region_view.h"

namespace dunlin {

// What the server sees of a record through a slot or block word. Clients write records, so nothing
// in one is believed but what was checked here.
struct RecordSight {
  const std::byte* data = nullptr;
  RecordHeader header{0};
  uint64_t expiry = 0;  // in ticks, 0: never

  std::span<const std::byte> key() const {
    return {data + header.key_offset(), header.key_bytes()};
  }
};

// The record in the block that `word` names, if what lies there is one of that generation that fits
// into the block. `block_bytes`: of the block, REQUIRES: it lies in the heap.
std::optional<RecordSight> SeeRecord(const RegionView& region, SlotWord word, uint64_t block_bytes);

// The slot that names `block`, found by the key of the record in it: the place that a client that
// links a block uses. Nothing if the block holds no record, or no slot of that key names it. Frozen
// slots count. Costs a few cache misses.
struct FoundSlot {
  uint64_t address = 0;
  SlotWord word;
};
std::optional<FoundSlot> FindSlot(const RegionView& region, const IndexSpace& index,
                                  const BlockPool& pool, BlockRef block);

}  // namespace dunlin
