#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/sync.h"
#include "common/memory/allocator.h"
#include "common/snapshot/snapshot_reader.h"
#include "server/index/index_space.h"
#include "server/region_view.h"
#include "server/snapshot/record_inserter.h"
#include "server/snapshot/shadow.h"

namespace dunlin {

// Fills an empty region from a snapshot, before anybody else sees it, and the shadow with it, so
// that the next pass finds nothing changed. Versions stay; times to live go on as the wall clock
// did. For one load; not thread safe, but with threads of its own: each takes some MiB of subtables
// after the other, reads what belongs there and inserts it.
class SnapshotLoader {
 public:
  struct Parts {
    const IndexSpace* index = nullptr;
    Allocator* allocator = nullptr;
    Shadow* shadow = nullptr;
    // Splits the subtable that serves the position before it returns. False: it can't be. Any of
    // the threads calls it, one at a time.
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
  // One behind the other, for one thread at a time.
  using Range = std::vector<IndexSpace::Subtable>;
  using Placed = RecordInserter::Placed;
  class Worker;
  // What found no room at first.
  struct Late {
    uint64_t tag;
    uint64_t expiry_tick;
    SnapshotRecord record;  // of `bytes`
    std::vector<std::byte> bytes;
  };

  // The next subtables, split as they are to be. Empty: there are none, or loading has failed.
  Range Claim();
  // The tick at which it expires, 0: never. Nothing: it has.
  std::optional<uint64_t> ExpiryTick(const SnapshotRecord& record) const;
  // Not OK: nothing more is to be loaded.
  absl::Status Defer(uint64_t tag, const SnapshotRecord& record, uint64_t expiry_tick,
                     Placed placed);
  void KeepTable(const IndexSpace::Subtable& s, const TableScratch& scratch,
                 std::vector<uint64_t> again);
  void Add(const SnapshotTotals& totals);
  void Fail(const absl::Status& status);
  bool SplitIsDue(const IndexSpace::Subtable& s) const;

  // With all threads at their ends.
  void RunWorkers(std::vector<Worker>& workers);
  absl::Status InsertLate(RecordInserter& inserter);
  Placed InsertLate(RecordInserter& inserter, const Late& late);
  absl::Status DoesNotFit() const;

  RegionView region_;
  Parts parts_;
  const uint64_t tick_;
  const int64_t unix_ms_;
  const uint32_t buckets_;
  const SnapshotReader* reader_ = nullptr;
  bool may_be_cut_ = false;
  uint64_t expected_ = 0;         // records
  uint32_t range_positions_ = 0;  // that a range has at least
  Figures figures_;

  // What the threads share; with it, the allocator, the index and the shadow.
  Mutex mutex_;
  uint64_t next_position_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool full_ ABSL_GUARDED_BY(mutex_) = false;
  SnapshotTotals totals_ ABSL_GUARDED_BY(mutex_);
  uint64_t cut_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Late> late_ ABSL_GUARDED_BY(mutex_);
  uint64_t late_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dunlin
