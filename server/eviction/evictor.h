#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "common/fabric/atomic_agent.h"
#include "common/memory/allocator.h"
#include "server/index/index_space.h"
#include "server/index/word_changer.h"
#include "server/region_view.h"

namespace dunlin {

// Makes room in a cache: keeps so many blocks of each size class free, or on their way through the
// grace period, as clients are about to ask for at their present rate.
//
// Which records go: each size class has a hand that goes round its blocks; a record that was used
// since loses one use, one that has none left goes (GCLOCK). A class whose records get so much
// older than another's that it holds memory which that one needs gives up whole slabs. Runs of
// pages get the next stretch of the heap. Not thread safe.
class Evictor {
 public:
  struct Parts {
    IndexSpace* index = nullptr;
    Allocator* allocator = nullptr;
    AtomicAgent* atomics = nullptr;
  };

  Evictor(const RegionView& region, const Parts& parts);

  // A client asks for so many blocks of the class. Of a run: for so many pages.
  void NoteDemand(SizeClass c, uint32_t blocks) { classes_[c].asked += blocks; }
  // It was not to be had.
  void NoteMissingRun(uint32_t pages) { run_pages_ = std::max(run_pages_, pages); }
  // Evicts a bounded number of what has to go. True: there is more to do at once.
  bool Step(uint64_t tick);

  uint64_t evicted() const { return evicted_; }
  uint64_t slabs_given_up() const { return slabs_given_up_; }
  // Not OK: a word could not be changed.
  const absl::Status& fault() const { return words_.fault(); }

 private:
  struct Class {
    uint64_t asked = 0;   // blocks, since the last update
    double rate = 0;      // blocks a tick
    uint32_t rounds = 0;  // of its hand, as last seen
    uint64_t round_began = 0;
    uint64_t round_ticks = kNever;  // that the last round took
  };
  static constexpr uint64_t kNever = ~uint64_t{0};

  void Update(uint64_t tick);
  uint64_t Wanted(SizeClass c) const;
  uint64_t Missing(SizeClass c, double share) const;
  double ShareOfWanted() const;
  uint64_t AgeOf(SizeClass c, uint64_t tick) const;
  SizeClass Oldest(SizeClass but, uint64_t tick) const;
  bool Serve(SizeClass c, uint64_t missing, uint64_t tick);
  void NoteInUse(SizeClass c, uint64_t tick);
  bool GiveUpSlab(SizeClass from, uint64_t tick);
  void Leave(uint64_t tick, uint64_t pages);
  void DropLeft(uint64_t tick);
  uint64_t MissingRunPages() const;
  bool ServeRuns(uint64_t tick);
  bool CloseWindow(uint64_t tick);
  void EvictAll(uint64_t tick);
  void Evict(BlockRef block, uint64_t tick);

  RegionView region_;
  const Parts parts_;
  const uint64_t grace_;
  const uint64_t ahead_;      // ticks for which blocks are to be there
  const uint64_t most_free_;  // bytes of the heap
  WordChanger words_;
  std::array<Class, kRunClass + 1> classes_{};
  uint64_t updated_at_ = 0;
  uint32_t run_pages_ = 0;  // of the largest run that was lately asked for in vain
  // Pages of runs that were evicted, and of slabs that were closed, so lately that they can't be
  // free yet.
  struct Leaving {
    uint64_t tick;
    uint64_t pages;
  };
  std::deque<Leaving> leaving_;
  uint64_t leaving_pages_ = 0;
  uint64_t opened_at_ = 0;
  uint32_t next_window_ = 0;  // page
  uint64_t window_closed_at_ = 0;
  std::vector<BlockRef> victims_;
  uint64_t evicted_ = 0;
  uint64_t slabs_given_up_ = 0;
};

}  // namespace dunlin
