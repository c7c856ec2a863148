#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/fabric/atomic_agent.h"
#include "common/memory/allocator.h"
#include "server/index/index_space.h"
#include "server/index/index_walk.h"
#include "server/index/word_changer.h"
#include "server/region_view.h"
#include "server/session_registry.h"

namespace dunlin {

// The one background walk of the index: it reclaims expired records, frees what is nobody's (mark
// and sweep), moves records out of sparse slabs, releases locks of the dead that nobody waits for,
// and counts. Its pace is its caller's business: each Step is a small piece of work. What it
// changes it changes like any client, through the region's atomic domain. Not thread safe.
//
// Mark and sweep. Every allocated block is suspected; acquitted is what lies in an unresolved batch
// of a session before the first of two walks that are a grace period apart, and what a slot names
// in either. What is taken meanwhile is not suspect, and a block that is freed and taken again
// isn't either, so that one suspected in the end has been allocated and unreferenced throughout; it
// is freed through another grace period.
class Patrol {
 public:
  struct Parts {
    IndexSpace* index = nullptr;
    Allocator* allocator = nullptr;
    AtomicAgent* atomics = nullptr;
    SessionRegistry* sessions = nullptr;
  };
  struct Figures {
    uint64_t walks = 0;
    uint64_t sweeps = 0;
    uint64_t swept_blocks = 0;
    uint64_t expired = 0;
    uint64_t relocated = 0;
    uint64_t locks_released = 0;
    // Of the last whole walk.
    uint64_t items = 0;
    uint64_t expiring_items = 0;  // with a time to live
    uint64_t walk_ticks = 0;      // that it took
  };

  // `server_session`: the owner of locks that the server itself takes. `period`: ticks from the
  // start of a walk to that of the next, at least. All parts are borrowed.
  // `empties`: whether sparse slabs are emptied.
  Patrol(const RegionView& region, const Parts& parts, uint32_t server_session, uint64_t period,
         bool empties = true);

  // Does a small piece of what is due at `tick`. False: nothing is, before `tick` has moved on.
  // `closed`: a subtable that is being split.
  bool Step(uint64_t tick, const IndexSpace::Subtable* closed);
  // Whether Step has something to do.
  bool Due(uint64_t tick) const;
  // Somebody waits for it, or memory is short: it should not dawdle, nor rest between walks.
  bool urgent() const { return requested_ > done_ticket_ || hurry_; }
  void Hurry(bool hurry);
  // Ends a rest between two walks: there is something to be found.
  void Wake() { rested_ = true; }

  // For a split.
  bool In(const IndexSpace::Subtable& s) const { return walk_ && walk_->In(s); }
  void StepBack();

  // A sweep that begins after this call is over once Swept(ticket).
  uint64_t RequestSweep() { return ++requested_; }
  bool Swept(uint64_t ticket) const { return done_ticket_ >= ticket; }

  const Figures& figures() const { return figures_; }
  uint32_t permille() const { return walk_ ? walk_->permille() : 0; }
  // Not OK: a word could not be changed.
  const absl::Status& fault() const { return words_.fault(); }

 private:
  friend class IndexWalk;
  enum class Phase : uint8_t { kRest, kSuspect, kBooks, kWalk, kCollect };
  struct Counts {
    uint64_t items = 0;
    uint64_t expiring = 0;
  };

  void Begin(uint64_t tick);
  void Suspect();
  void AcquitBooks();
  void EndWalk(uint64_t tick);
  void CountVain();
  void Collect(uint64_t tick);
  void ChooseSparse();

  // What the walk calls.
  void Ahead(SlotWord word) const;
  void Header(uint64_t address, BucketHeader header);
  void Slot(uint64_t address, SlotWord word);
  void SubtableDone();

  void Expire(uint64_t address, SlotWord word);
  void Relocate(uint64_t address, SlotWord word);

  RegionView region_;
  Parts parts_;
  const uint32_t server_session_;
  const uint64_t period_;
  const uint64_t grace_;
  const bool empties_;
  WordChanger words_;

  Phase phase_ = Phase::kRest;
  bool second_ = false;  // the walk under way, or the next, is the second of a sweep
  bool hurry_ = false;
  uint32_t vain_walks_ = 0;  // in a hurry, one after another, that won no memory
  uint64_t won_ = 0;         // blocks, up to the last walk's end
  bool rested_ = false;
  uint64_t tick_ = 0;
  uint64_t walk_began_ = 0;
  uint64_t walk_ended_ = 0;
  uint64_t requested_ = 0;
  uint64_t sweeping_ticket_ = 0;  // requests that the sweep under way answers
  uint64_t done_ticket_ = 0;
  uint64_t cursor_ = 0;
  uint32_t next_session_ = 0;
  uint32_t walks_closed_ = 0;  // walks since slabs were closed
  std::optional<IndexWalk> walk_;
  Counts subtable_;  // the one that the walk is in
  Counts counts_;
  std::vector<BlockRef> suspects_;
  Figures figures_;
};

}  // namespace dunlin
