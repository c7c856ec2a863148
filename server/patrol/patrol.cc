#include "server/patrol/patrol.h"

#include <algorithm>

#include "common/memory/slab_shape.h"
#include "server/index/slot_finder.h"
#include "server/patrol/relocate.h"

namespace dunlin {
namespace {

// Bounds of one Step: a tenth of a millisecond or two each.
constexpr uint32_t kBucketsPerStep = 64;
constexpr uint32_t kBlocksPerStep = 16'384;
constexpr uint64_t kSparseBelow = 8;   // of the heap's pages, 1/8 free: sparse slabs are emptied
constexpr uint32_t kSlabsAtATime = 8;  // of the heap's slabs, 1/8
constexpr uint32_t kWalksToEmpty = 2;
constexpr uint32_t kVainWalks = 3;

}  // namespace

Patrol::Patrol(const RegionView& region, const Parts& parts, uint32_t server_session,
               uint64_t period, bool empties)
    : region_(region),
      parts_(parts),
      server_session_(server_session),
      period_(period),
      grace_(region.geometry().grace),
      empties_(empties),
      words_(parts.atomics, parts.allocator) {}

bool Patrol::Due(uint64_t tick) const {
  if (phase_ != Phase::kRest) return true;
  // The second walk is to begin a grace period after the end of the first.
  if (second_ && tick < walk_ended_ + grace_) return false;
  return urgent() || rested_ || tick >= walk_began_ + period_;
}

bool Patrol::Step(uint64_t tick, const IndexSpace::Subtable* closed) {
  if (!Due(tick)) return false;
  tick_ = tick;
  switch (phase_) {
    case Phase::kRest:
      Begin(tick);
      return true;
    case Phase::kSuspect:
      Suspect();
      return true;
    case Phase::kBooks:
      AcquitBooks();
      return true;
    case Phase::kWalk: {
      const uint32_t visited = walk_->Step(kBucketsPerStep, closed, *this);
      if (walk_->over()) EndWalk(tick);
      return visited != 0;
    }
    case Phase::kCollect:
      Collect(tick);
      return true;
  }
  return false;
}

// Where memory is simply full of what was put there, hurrying does not help.
void Patrol::Hurry(bool hurry) {
  if (!hurry) vain_walks_ = 0;
  hurry_ = hurry && vain_walks_ < kVainWalks;
}

void Patrol::CountVain() {
  const uint64_t won = figures_.expired + figures_.swept_blocks + figures_.relocated;
  vain_walks_ = won == won_ ? vain_walks_ + 1 : 0;
  won_ = won;
}

void Patrol::StepBack() {
  walk_->StepBack();
  subtable_ = {};
}

void Patrol::Begin(uint64_t tick) {
  walk_began_ = tick;
  rested_ = false;
  counts_ = subtable_ = {};
  ChooseSparse();
  cursor_ = 0;
  next_session_ = 0;
  if (second_) {
    walk_.emplace(region_, *parts_.index);
    phase_ = Phase::kWalk;
    return;
  }
  sweeping_ticket_ = requested_;
  phase_ = Phase::kSuspect;
}

// Only with pages short: a record that moves costs whoever has its place in mind a round trip.
void Patrol::ChooseSparse() {
  if (!empties_) return;
  BlockPool& pool = parts_.allocator->marks();
  if (pool.closed_slabs() != 0) {
    // What is left in them is in clients' hands, or was too new to be moved.
    if (++walks_closed_ < kWalksToEmpty) return;
    pool.OpenClosed();
  }
  walks_closed_ = 0;
  if (!pool.scattered() && pool.free_page_bytes() >= pool.heap_bytes() / kSparseBelow) return;
  pool.CloseSparse(std::max(1u, pool.page_count() / pool.shapes().slab_pages() / kSlabsAtATime),
                   tick_);
}

// Mark and sweep.

void Patrol::Suspect() {
  cursor_ = parts_.allocator->marks().SuspectAll(cursor_, kBlocksPerStep);
  if (cursor_ == BlockPool::kMarksEnd) phase_ = Phase::kBooks;
}

// A session at a time. A batch that is resolved before its session's turn is linked or returned by
// then, so the walk decides about its blocks.
void Patrol::AcquitBooks() {
  BlockPool& pool = parts_.allocator->marks();
  SessionEntry* session = parts_.sessions->FindFrom(next_session_);
  if (session == nullptr) {
    walk_.emplace(region_, *parts_.index);
    phase_ = Phase::kWalk;
    return;
  }
  next_session_ = session->id + 1;
  // Blocks that came back and went out again meanwhile are in another book, if in any: once
  // forgotten they can't be taken for these when their generation comes round.
  if (session->state != SessionEntry::State::kFenced) {
    session->book.Prune([&pool](BlockRef block) { return pool.Allocated(block); });
  }
  for (BlockRef block : session->book.blocks()) pool.Acquit(block);
}

void Patrol::EndWalk(uint64_t tick) {
  walk_.reset();
  walk_ended_ = tick;
  ++figures_.walks;
  parts_.sessions->NoteWalks(figures_.walks);
  CountVain();
  figures_.items = counts_.items;
  figures_.expiring_items = counts_.expiring;
  figures_.walk_ticks = tick - walk_began_;
  cursor_ = 0;
  phase_ = second_ ? Phase::kCollect : Phase::kRest;
  second_ = !second_;
}

void Patrol::Collect(uint64_t tick) {
  suspects_.clear();
  cursor_ = parts_.allocator->pool().CollectSuspects(cursor_, kBlocksPerStep, suspects_);
  for (BlockRef block : suspects_) {
    if (parts_.allocator->ReturnIfSame(block, tick)) ++figures_.swept_blocks;
  }
  if (cursor_ != BlockPool::kMarksEnd) return;
  ++figures_.sweeps;
  done_ticket_ = sweeping_ticket_;
  phase_ = Phase::kRest;
}

// The walk.

void Patrol::Ahead(SlotWord word) const {
  parts_.allocator->Prefetch(word);
  const Geometry& g = region_.geometry();
  if (word.heap_offset() < g.heap_bytes) __builtin_prefetch(region_.At(g.RecordAddress(word)));
}

void Patrol::Header(uint64_t address, BucketHeader header) {
  if (!header.held() || header.owner() == server_session_) return;
  if (parts_.sessions->Lives(header.owner())) return;
  if (words_.ReleaseDead(address, header)) ++figures_.locks_released;
}

void Patrol::Slot(uint64_t address, SlotWord word) {
  if (!word.live()) return;
  ++subtable_.items;
  BlockPool& pool = parts_.allocator->marks();
  pool.Acquit(word);
  // A client may have written any word: what follows is for those that name a block in use.
  std::optional<BlockRef> block = pool.Find(word);
  if (!block) return;
  const std::byte* record = region_.At(region_.geometry().RecordAddress(word));
  if (RecordHeader(LoadWordRelaxed(record)).expires()) {
    std::optional<RecordSight> sight = SeeRecord(region_, word, pool.BytesOf(*block));
    if (sight && sight->expiry != 0) {
      ++subtable_.expiring;
      if (sight->expiry <= tick_ && !word.frozen()) return Expire(address, word);
    }
  }
  if (pool.InClosedSlab(word) && !word.frozen()) Relocate(address, word);
}

void Patrol::SubtableDone() {
  counts_.items += subtable_.items;
  counts_.expiring += subtable_.expiring;
  subtable_ = {};
}

void Patrol::Expire(uint64_t address, SlotWord word) {
  if (!words_.Unlink(address, word, tick_)) return;
  ++figures_.expired;
  --subtable_.items;
  --subtable_.expiring;
}

// To another slab of its class that has room already: a new slab would take what is to be won.
void Patrol::Relocate(uint64_t address, SlotWord word) {
  const SizeClass c = word.size_class();
  if (!IsSlabClass(c) || !parts_.allocator->pool().HasFreeBlock(c)) return;
  std::vector<BlockRef> target;
  if (parts_.allocator->Take(c, 1, tick_, target) == 0) return;
  const SlotWord to = target[0].word();
  bool moved = false;
  if (CopyRecord(region_.At(0), region_.geometry(), word, to)) {
    absl::StatusOr<bool> swung = SwingToCopy(*parts_.atomics, address, word, to);
    if (!swung.ok()) return words_.Fail(swung.status());
    moved = *swung;
  }
  parts_.allocator->Return(moved ? word : to, tick_);
  figures_.relocated += moved;
}

}  // namespace dunlin
