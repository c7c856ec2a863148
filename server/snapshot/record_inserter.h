#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/sync.h"
#include "common/layout/size_class.h"
#include "common/memory/allocator.h"
#include "common/snapshot/snapshot_entry.h"
#include "server/index/index_space.h"
#include "server/region_view.h"

namespace dunlin {

// Puts records into a region that nobody else uses yet. One thread each; several may be at work at
// the same time, in different subtables.
class RecordInserter {
 public:
  enum class Placed : uint8_t { kYes, kMemoryFull, kBucketsFull };
  struct Place {
    uint32_t slot = 0;  // of the subtable
    SlotWord word;
  };

  // `mutex` guards `allocator`. Both are borrowed.
  RecordInserter(const RegionView& region, Mutex* mutex, Allocator* allocator, uint64_t tick)
      : region_(region), mutex_(mutex), allocator_(allocator), tick_(tick) {}

  // kYes: fills in `place`. `expiry_tick`: 0 for never. REQUIRES: the key's place in the index is
  // in `s`, and the key isn't there yet.
  Placed Insert(const IndexSpace::Subtable& s, const SnapshotRecord& record, uint64_t expiry_tick,
                Place* place);

  // Takes what `other` has in hand of blocks, before it asks for more.
  void TakeOver(RecordInserter& other);
  // To be called at the end.
  void GiveBackBlocks();

 private:
  std::byte* FindRoom(const IndexSpace::Subtable& s, uint64_t hash, uint32_t* slot) const;
  bool TakeBlock(uint64_t record_bytes, BlockRef* block);
  void LookAhead(BlockRef next) const;
  bool FillHand(SizeClass c);

  RegionView region_;
  Mutex* const mutex_;
  Allocator* const allocator_ ABSL_PT_GUARDED_BY(*mutex_);
  const uint64_t tick_;
  std::array<std::vector<BlockRef>, kLastSlabClass + 1> blocks_;
};

}  // namespace dunlin
