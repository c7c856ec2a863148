#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/layout/size_class.h"
#include "common/memory/allocator.h"
#include "common/snapshot/snapshot_reader.h"
#include "server/index/index_space.h"
#include "server/region_view.h"
#include "server/snapshot/record_feed.h"
#include "server/snapshot/shadow.h"

namespace dunlin {

// Fills an empty region from a snapshot, before anybody else sees it, and the shadow with it, so
// that the next pass finds nothing changed. Versions stay; times to live go on as the wall clock
// did. For one load; not thread safe.
class SnapshotLoader {
 public:
  struct Parts {
    const IndexSpace* index = nullptr;
    Allocator* allocator = nullptr;
    Shadow* shadow = nullptr;
    // Splits the subtable that serves the position before it returns. False: it can't be.
    std::function<bool(uint32_t position)> split;
  };
  struct Figures {
    uint64_t records = 0;
    uint64_t expired = 0;  // left out
    // That found no room, and `may_be_cut` said that this is fine: the shadow is worth nothing
    // then.
    uint64_t cut = 0;
  };

  SnapshotLoader(const RegionView& region, const Parts& parts, uint64_t tick, int64_t unix_ms);

  // DataLoss: the snapshot is damaged, and the region has to be made anew. ResourceExhausted: it
  // does not fit. `may_be_cut`: then what fits will do.
  //
  // The index is split on the way as it would have been by records that came one after another, so
  // that what filled a server before fits into one like it again.
  absl::Status Load(const SnapshotReader& reader, bool may_be_cut);
  const Figures& figures() const { return figures_; }

 private:
  using Item = RecordFeed::Batch::Item;
  struct Late {
    Item item;
    uint64_t expiry_tick;
    std::vector<std::byte> bytes;
  };
  enum class Placed : uint8_t { kYes, kMemoryFull, kBucketsFull };

  Placed Insert(const Item& item, const std::byte* bytes, uint64_t expiry_tick, bool shadowed);
  absl::Status InsertLate();
  absl::Status DoesNotFit(const SnapshotInfo& info) const;
  bool SplitIsDue(const IndexSpace::Subtable& s) const;
  std::optional<BlockRef> TakeBlock(uint64_t record_bytes);
  void GiveBackBlocks();
  std::byte* FindRoom(uint64_t hash, uint32_t* slot);
  void EnterTable(const IndexSpace::Subtable& s);
  void FinishTable();
  // The tick at which it expires, 0: never. Nothing: it has.
  std::optional<uint64_t> ExpiryTick(const Item& item) const;

  RegionView region_;
  Parts parts_;
  const uint64_t tick_;
  const int64_t unix_ms_;
  const uint32_t buckets_;
  uint64_t expected_ = 0;  // records
  Figures figures_;

  IndexSpace::Subtable subtable_;
  bool in_table_ = false;
  TableScratch scratch_;
  std::vector<uint64_t> again_;  // tags of the subtable that have no record in the region
  std::array<std::vector<BlockRef>, kLastSlabClass + 1> blocks_;
  std::vector<Late> late_;
};

}  // namespace dunlin
