#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "common/fabric/atomic_agent.h"
#include "common/layout/lane.h"
#include "common/memory/allocator.h"
#include "server/growth/split.h"
#include "server/index/index_space.h"
#include "server/region_view.h"

namespace dunlin {

// Decides when which subtable is split, and has it done, one at a time.
//
// Hashes are so even that all subtables of one depth fill together. So they are split one after
// another while the load goes from kBeginLoad to kEndLoad, in proportion: the index is never full,
// and never does everything at once. An insert that finds no slot all the same asks for its
// subtable to be split. Not thread safe.
class Grower {
 public:
  static constexpr double kBeginLoad = 0.70;
  static constexpr double kEndLoad = 0.82;
  // Whoever asks for a subtable emptier than this to be split has made its bucket overflow by
  // choosing its keys.
  static constexpr double kLeastLoad = 0.40;

  static constexpr uint32_t kWordsPerStep = 8192;  // some hundreds of microseconds

  struct Parts {
    IndexSpace* index = nullptr;
    Allocator* allocator = nullptr;
    AtomicAgent* atomics = nullptr;
  };
  struct Figures {
    uint64_t splits = 0;
    uint64_t cancelled = 0;      // a lock was not to be had in time; done later
    uint64_t faults = 0;         // a client has broken the protocol in that subtable
    uint64_t longest_ticks = 0;  // that writes to a subtable waited for its split
    std::string last_fault;
  };

  // `server_session`: the owner of the locks that a split takes. All parts are borrowed.
  // `words_per_step`: how many words of the index one Step looks at.
  Grower(const RegionView& region, const Parts& parts, uint32_t server_session,
         uint32_t words_per_step = kWordsPerStep)
      : region_(region),
        parts_(parts),
        server_session_(server_session),
        words_per_step_(words_per_step) {}

  // Somebody found no slot in the subtable of `position`, which he takes to be `depth` bits deep.
  GrowOutcome Ask(uint32_t position, uint32_t depth, uint64_t tick);

  // The subtable to be split next, with about that many records in the index; nothing: not now.
  std::optional<IndexSpace::Subtable> Next(uint64_t records, uint64_t tick);
  // Whether that subtable can be split now, whatever its load.
  bool MayStart(const IndexSpace::Subtable& subtable, uint64_t tick);
  // Begins. REQUIRES: Next or MayStart said so, no walk is in the midst of it, none enters it until
  // the end.
  void Start(const IndexSpace::Subtable& subtable, uint64_t tick);
  // Whether since the last call a split was called for and there was no memory for it.
  bool TakeLackOfRoom() { return std::exchange(lacks_room_, false); }
  // The subtable being split; null if there is none.
  const IndexSpace::Subtable* splitting() const { return split_ ? &here_ : nullptr; }
  // A piece of it. True: there is more to do at once.
  bool Step(uint64_t tick);
  // The lock that is waited for, if one is: it may be a dead client's.
  std::optional<uint64_t> awaited_lock() const;

  const Figures& figures() const { return figures_; }
  // Not OK: a word could not be changed.
  const absl::Status& fault() const { return fault_; }

 private:
  std::optional<IndexSpace::Subtable> NextByLoad(uint64_t records);
  bool HasRoom(uint64_t tick);
  double LoadOf(const IndexSpace::Subtable& subtable) const;
  bool OnProgress(Split::Progress progress, uint64_t tick);
  bool OnWait(uint64_t tick);
  void GiveBackChildren();
  void End(uint64_t tick);

  RegionView region_;
  const Parts parts_;
  const uint32_t server_session_;
  const uint32_t words_per_step_;
  std::deque<uint32_t> asked_;  // positions
  uint32_t next_position_ = 0;
  uint64_t not_before_ = 0;  // tick
  bool lacks_room_ = false;
  // That were found to hold what can't be split, by address: not tried again.
  std::unordered_set<uint64_t> faulty_;
  uint64_t faulty_at_[kMaxDirectoryDepth + 1] = {};  // of them, of each depth

  std::optional<Split> split_;
  IndexSpace::Subtable here_;
  IndexSpace::Place children_[2];
  bool waits_ = false;
  uint64_t wait_began_ = 0;
  uint64_t began_ = 0;
  absl::Status fault_;
  Figures figures_;
};

}  // namespace dunlin
