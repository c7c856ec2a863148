#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "common/fabric/atomic_agent.h"
#include "common/memory/block_ref.h"
#include "server/region_view.h"

namespace dunlin {

// One pass over all buckets, a few at a time: counts items and locks, releases the locks of fenced
// sessions, and notes which of their blocks a slot points to. Not thread safe; clients change the
// index meanwhile.
class IndexWalk {
 public:
  struct Counts {
    uint64_t items = 0;
    uint64_t locks = 0;  // still held after the walk passed
    uint64_t released = 0;
  };

  // `atomics` is borrowed.
  IndexWalk(const RegionView& region, AtomicAgent* atomics) : region_(region), atomics_(*atomics) {}

  // Both before the first Step. A session whose locks are released, REQUIRES: it is fenced; a block
  // of such a session, to look for.
  void AddFenced(uint32_t session) { fenced_.insert(session); }
  void AddBlock(BlockRef block);

  // Visits the next `buckets` buckets. True when the walk is over.
  bool Step(uint64_t buckets);

  const Counts& counts() const { return counts_; }
  // Blocks given to AddBlock to which no slot pointed when the walk came by. A slot that gets to
  // point to such a block later can't be: only its fenced session could have done that.
  // REQUIRES: the walk is over.
  std::vector<BlockRef> Unlinked() const;
  const std::unordered_set<uint32_t>& fenced() const { return fenced_; }
  // Not OK: a lock may not have been released, for this reason.
  const absl::Status& fault() const { return fault_; }

 private:
  // A coarse sieve in front of the hash table: nearly every slot of the index is somebody else's.
  static constexpr uint32_t kSieveBits = 1u << 16;
  static uint32_t SieveBit(uint64_t heap_offset) {
    return static_cast<uint32_t>((heap_offset / kBlockUnit) * 0x9E3779B97F4A7C15u >> 48);
  }

  void VisitHeader(uint64_t address);
  void VisitSlot(SlotWord word);

  RegionView region_;
  AtomicAgent& atomics_;
  absl::Status fault_;
  uint64_t next_bucket_ = 0;
  Counts counts_;
  std::unordered_set<uint32_t> fenced_;
  struct Candidate {
    BlockRef block;
    bool linked = false;
  };
  std::unordered_map<uint64_t, Candidate> candidates_;  // by heap offset
  std::array<uint64_t, kSieveBits / 64> sieve_{};
};

}  // namespace dunlin
