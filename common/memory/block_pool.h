#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/layout/size_class.h"
#include "common/memory/block_ref.h"
#include "common/memory/page_extents.h"

namespace dunlin {

// The blocks of a heap and their states: free -> allocated -> in grace -> free. Knows offsets and
// never touches the heap's bytes. Metadata is private to the server: 4 bytes a block, 8 bytes a
// page, and a slab's header. Every reuse of a block raises its generation (page_history.h says what
// that guarantees). Not thread safe. Ticks never decrease from call to call.
class BlockPool {
 public:
  struct ClassUse {
    uint64_t allocated = 0;  // blocks
    uint64_t grace = 0;
    uint64_t free = 0;   // in slabs of this class
    uint64_t bytes = 0;  // of heap held by the class
  };

  // `heap_bytes` is rounded down to whole pages. `grace` is in ticks, at least 1.
  // REQUIRES: heap_bytes <= SlotWord::kHeapLimit.
  BlockPool(uint64_t heap_bytes, uint64_t grace);

  // Allocates up to `want` blocks and appends them. Returns how many: fewer mean that the heap is
  // full. REQUIRES: IsSlabClass(c).
  uint32_t Take(SizeClass c, uint32_t want, uint64_t tick, std::vector<BlockRef>& out);

  // Allocates a run for `bytes` bytes, or says that no such run is free. REQUIRES: bytes > 0.
  std::optional<BlockRef> TakeRun(uint64_t bytes, uint64_t tick);

  // The allocated block that `word` names: offset, class and the 10 bits of generation agree.
  // Believes nothing of the word.
  std::optional<BlockRef> Find(SlotWord word) const;

  // Whether it is allocated, of that very generation.
  bool Allocated(BlockRef block) const;

  // Bytes of heap that the block takes. REQUIRES: it is allocated or in grace.
  uint64_t BytesOf(BlockRef block) const;

  // Allocated -> in grace, if Find or Allocated say so; otherwise nothing is done.
  std::optional<BlockRef> StartGrace(SlotWord word);
  bool StartGrace(BlockRef block);
  // To be called some blocks ahead of StartGrace(word): its metadata is seldom in a cache.
  void Prefetch(SlotWord word) const;
  // In grace -> free. REQUIRES: it is in grace, since at least `grace` ticks.
  void EndGrace(BlockRef block, uint64_t tick);

  uint64_t heap_bytes() const { return uint64_t{kPageBytes} * page_count_; }
  uint64_t allocated_bytes() const { return allocated_bytes_; }
  uint64_t grace_bytes() const { return grace_bytes_; }
  uint64_t free_bytes() const { return heap_bytes() - allocated_bytes_ - grace_bytes_; }
  // REQUIRES: IsBlockClass(c).
  const ClassUse& use(SizeClass c) const { return use_[c]; }
  // Pages that wait out the generations' window (page_history.h).
  uint64_t resting_pages() const { return resting_pages_; }
  // Private memory of this object, within a few percent.
  uint64_t metadata_bytes() const;

  // Recounts everything; empty if it agrees with the running sums, otherwise what does not. Walks
  // all metadata: for tests.
  std::string Audit() const;

 private:
  enum class State : uint8_t { kFree = 0, kAllocated = 1, kGrace = 2 };
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint32_t kRunFlag = 1u << 31;

  struct Page {
    uint32_t owner = kNone;  // index of its slab, or kRunFlag | index of the run that starts here
    uint16_t base = 0;       // generation that blocks here start with
  };
  // bits 0..15 generation, 16..17 state, 18..31 next free block of the slab
  using BlockMeta = uint32_t;
  static constexpr uint32_t kEndOfList = (1u << 14) - 1;
  struct Slab {
    std::unique_ptr<BlockMeta[]> blocks;
    uint32_t first_page = 0;
    uint32_t next = kNone;  // slabs of the class that have a free block
    uint32_t previous = kNone;
    uint16_t block_count = 0;
    uint16_t free_count = 0;
    uint16_t free_head = kEndOfList;
    uint16_t pages = 0;
    SizeClass size_class = 0;
  };
  struct Run {
    uint32_t first_page = 0;
    uint32_t pages = 0;
    uint16_t generation = 0;
    State state = State::kFree;
  };
  struct Rest {
    uint64_t until;
    uint32_t first_page;
    uint32_t pages;
  };
  struct SlabList {
    uint32_t front = kNone;
    uint32_t back = kNone;
    uint32_t empty = 0;  // of them wholly free; they are at the back
  };
  struct Place {
    uint32_t owner;
    uint32_t index;  // of the block in its slab; 0 for a run
  };

  static constexpr BlockMeta Meta(uint16_t generation, State state, uint32_t next) {
    return generation | static_cast<uint32_t>(state) << 16 | next << 18;
  }
  static constexpr State StateOf(BlockMeta m) { return static_cast<State>(m >> 16 & 3); }

  std::optional<Place> Locate(uint64_t heap_offset, SizeClass c) const;
  State StateAt(Place place) const;
  uint16_t GenerationAt(Place place) const;
  // Of that generation under `mask`.
  bool AllocatedAt(Place place, uint32_t generation, uint64_t mask) const;
  void MoveToGrace(Place place, BlockRef block);

  std::optional<uint32_t> TakePages(uint32_t pages, uint64_t tick);
  void ReclaimEmptySlabs(uint64_t tick);
  void EndRests(uint64_t tick);
  // Gives pages back, or lets them rest.
  void GivePages(uint32_t first, uint32_t pages, bool rests, uint64_t tick);

  // False if there are no pages for it.
  bool FormatSlab(SizeClass c, uint64_t tick);
  void RetireSlab(uint32_t index, uint64_t tick);
  bool RetireSlabPage(const Slab& slab, uint32_t page_of_slab);
  void EndSlabGrace(uint32_t slab, uint32_t block, uint64_t tick);
  void EndRunGrace(uint32_t run, uint64_t tick);

  void PushFront(uint32_t slab);
  void PushBack(uint32_t slab);
  void Unlink(uint32_t slab);

  const uint64_t grace_;
  const uint32_t page_count_;
  std::vector<Page> pages_;
  PageExtents extents_;
  std::deque<Rest> resting_;
  uint64_t resting_pages_ = 0;
  std::vector<Slab> slabs_;
  std::vector<uint32_t> unused_slabs_;  // indices
  std::vector<Run> runs_;
  std::vector<uint32_t> unused_runs_;
  std::array<SlabList, kLastSlabClass + 1> lists_{};
  std::array<ClassUse, kRunClass + 1> use_{};
  uint64_t allocated_bytes_ = 0;
  uint64_t grace_bytes_ = 0;
  uint64_t block_metas_ = 0;
};

}  // namespace dunlin
