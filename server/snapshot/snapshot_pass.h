#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/layout/slot.h"
#include "common/memory/block_pool.h"
#include "server/index/index_space.h"
#include "server/index/slot_finder.h"
#include "server/region_view.h"
#include "server/snapshot/large_copy.h"
#include "server/snapshot/shadow.h"
#include "server/snapshot/slot_compare.h"
#include "server/snapshot/snapshot_batch.h"

namespace dunlin {

// One walk over the index that compares it with the shadow of the last snapshot, hands on what
// differs, and leaves the shadow as of this walk. Clients change the index and the heap meanwhile;
// the server's thread, which runs this, alone ends grace periods, so that a record found linked
// stays whole for the rest of a step. Each Step is a small piece of work. Not thread safe.
//
// What it hands on: for each tag of which any record was put, changed or removed since the shadow,
// all records of that tag, each of which was its key's current one when it was copied. A tag is
// judged as a whole since whoever removes an entry has nothing but its tag to find it by.
//
// The walk goes in hash order. A subtable that is split in its midst is begun again (StepBack), in
// a new layer of what is handed on.
class SnapshotPass {
 public:
  enum class Kind : uint8_t {
    kWrite,  // hands on what changed since the shadow
    // Hands on everything; the shadow is forgotten, so that until one becomes a snapshot the next
    // must be kFull as well.
    kFull,
    // Hands on nothing. Words recur after 2^10 grace periods, so that what changed must be noted
    // long before, whether or not a snapshot is due.
    kMark,
  };
  struct Parts {
    const IndexSpace* index = nullptr;
    const BlockPool* pool = nullptr;
    Shadow* shadow = nullptr;
  };
  struct Figures {
    uint64_t subtables = 0;  // gone through
    uint64_t puts = 0;       // entries handed on
    uint64_t deletes = 0;
    uint64_t records = 0;          // copied
    uint64_t damaged = 0;          // records in the index that are not whole: not in the snapshot
    uint64_t highest_version = 0;  // of those copied
  };

  SnapshotPass(const RegionView& region, const Parts& parts);

  // `pass`: grows from each to the next. `committed`: the last one that became a snapshot.
  // `sink`: borrowed until the pass is over or dropped; null for kMark.
  void Begin(Kind kind, uint64_t pass, uint64_t committed, SnapshotSink* sink);
  // Does a small piece. `closed`: a subtable that is being split. False: it can't go on now (the
  // sink has no room, or it stands before the closed one) or is over.
  bool Step(uint64_t tick, const IndexSpace::Subtable* closed);
  // Of the walk under way.
  bool active() const { return active_; }
  void Drop();
  Kind kind() const { return kind_; }
  uint32_t permille() const;
  const Figures& figures() const { return figures_; }

  // For a split.
  bool In(const IndexSpace::Subtable& s) const {
    return active_ && phase_ != Phase::kCompare && position_ == IndexSpace::First(s);
  }
  void StepBack();

  // Not 0: what was unlinked at this tick or later must not be reused: a large record is being
  // copied, a piece in each step.
  uint64_t pinned_tick() const { return large_ ? large_->since_tick() : 0; }

  uint64_t scratch_bytes() const;

 private:
  enum class Phase : uint8_t { kCompare, kHeads, kCopy };
  // A slot whose record is to be handed on.
  struct Candidate {
    uint64_t tag = 0;
    SlotWord word{};       // of what was copied already
    uint32_t slot = 0;     // of the subtable: bucket * kSlotsPerBucket + slot
    uint32_t copy_at = 0;  // in small_
    uint16_t copied = 0;   // bytes; 0: not yet
    bool good = false;     // its head was read
  };
  static_assert(sizeof(Candidate) == 32, "a subtable's are sorted in the second-level cache");
  // By tag, and for one tag in the order in which they are read.
  static bool Before(const Candidate& a, const Candidate& b);
  // A record in a slot, current at this moment.
  struct Sight {
    SlotWord word;  // thawed
    RecordSight record;
    uint64_t tag = 0;
  };
  enum class Seen : uint8_t { kRecord, kNothing, kDamaged };

  std::byte* SlotAt(uint32_t slot) const;
  SlotWord Now(uint32_t slot) const;
  Seen See(uint32_t slot, Sight& sight) const;
  std::optional<uint64_t> BlockBytesOf(SlotWord word) const;
  Seen SeeOnce(uint32_t slot, Sight& sight) const;

  bool CompareTable(const IndexSpace::Subtable& s);
  void Settle(ShadowTable& t);
  void CompareOrdered(ShadowTable& t);
  void DiffBucket(ShadowTable& t, uint32_t bucket, size_t first);
  void CompareUnordered(ShadowTable& t);
  void UseScratch(const ShadowTable& t);
  void ReadHeads();
  void ReadHead(Candidate& c);
  void EndHeads();
  void SortCandidates();
  void AddTouchedTags();
  bool FindTwins();
  void LookAhead(uint32_t slot) const;
  void LookAheadAt(size_t first, size_t end) const;
  bool CopyRecords();
  // False: it goes on in the next step.
  bool CopyOne(const Candidate& c);
  bool CopyLarge(const Candidate& c);
  static bool CopiedWell(const std::byte* copy, RecordHeader header);
  void Note(const Candidate& c, SlotWord word, uint64_t bytes);
  void DropSameKey(uint64_t bytes);
  void Unappend(uint64_t bytes);
  void FinishTag();
  void FinishTable();
  void NextTable();
  void LeaveTable();
  void PushBatch(bool ends_layer);

  RegionView region_;
  Parts parts_;
  const uint32_t buckets_;
  const uint64_t max_age_;  // of a comparison: a quarter of what words take to recur
  const CompareBuckets compare_;

  Kind kind_ = Kind::kWrite;
  uint64_t pass_ = 0;
  uint64_t committed_ = 0;
  SnapshotSink* sink_ = nullptr;
  bool active_ = false;
  Phase phase_ = Phase::kCompare;
  uint32_t position_ = 0;
  IndexSpace::Subtable subtable_;
  ShadowTable* table_ = nullptr;  // in kHeads and kCopy
  uint64_t compared_tick_ = 0;
  uint64_t tick_ = 0;
  Figures figures_;

  // Of the subtable, if it changed: what stays of the shadow, and what else was written.
  TableScratch scratch_;
  bool scratch_used_ = false;
  std::vector<Candidate> candidates_;
  std::vector<Candidate> sorted_;  // on the way
  // Small records, copied when their heads are read: a second look at each would cost as much as
  // the first.
  std::vector<std::byte> small_;
  std::vector<uint64_t> touched_;       // tags
  std::vector<uint64_t> deleted_;       // of those, the ones without a record
  size_t cursor_ = 0;                   // in candidates_
  size_t tag_cursor_ = 0;               // in touched_
  std::vector<uint32_t> slots_of_tag_;  // whose records are in the item under way
  std::optional<LargeCopy> large_;
  SnapshotBatch batch_;
  static constexpr SnapshotBatch::Item kNoItem{~uint64_t{0}, 0, 0};
  SnapshotBatch::Item item_ = kNoItem;
};

}  // namespace dunlin
