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
#include "common/memory/slab_shape.h"

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
    uint64_t free = 0;    // in slabs of this class
    uint64_t closed = 0;  // of these, in closed slabs: not to be had
    uint64_t bytes = 0;   // of heap held by the class
  };

  // `heap_bytes` is rounded down to whole pages. `grace` is in ticks, at least 1.
  // REQUIRES: heap_bytes <= SlotWord::kHeapLimit.
  BlockPool(uint64_t heap_bytes, uint64_t grace)
      : BlockPool(heap_bytes, grace, SlabPagesFor(heap_bytes)) {}
  // `slab_pages`: see SlabShapes.
  BlockPool(uint64_t heap_bytes, uint64_t grace, uint32_t slab_pages);

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

  // Takes pages out of the heap for good: heap offset of the first. They hold index words from now
  // on, and are never a record's again: a stale compare-and-swap may be aimed at them for ever.
  std::optional<uint64_t> TakeForIndex(uint32_t pages, uint64_t tick);

  // Marks (block_pool_marks.cc). An allocated block may be suspected of being nobody's; one that
  // was just taken is not.
  //
  // Walks over all slabs and runs go in pieces of about `most` blocks: from `cursor` (0: the
  // start), they return where to go on, or kMarksEnd. What is taken meanwhile may be missed.
  static constexpr uint64_t kMarksEnd = ~uint64_t{0};
  uint64_t SuspectAll(uint64_t cursor, uint32_t most);
  uint64_t CollectSuspects(uint64_t cursor, uint32_t most, std::vector<BlockRef>& out) const;
  // Not suspect (any more). Believes nothing of the word.
  void Acquit(SlotWord word);
  void Acquit(BlockRef block);

  // How often the block's record was used lately, as far as was told: counts up to kMostUses.
  static constexpr uint32_t kMostUses = 7;
  void NoteUse(SlotWord word);
  // Moves the class's hand over up to `most` allocated blocks: those used lately lose one use, the
  // others are appended to `out`. Stops once it has appended `want`. Returns how many it passed.
  uint32_t AdvanceHand(SizeClass c, uint32_t most, uint32_t want, std::vector<BlockRef>& out);

  // How often the class's hand has come round.
  uint32_t HandRounds(SizeClass c) const { return hands_[c].rounds; }

  // Slabs that are to be emptied: their free blocks are handed out no more, and their pages are
  // free when the last record has left.
  //
  // Closes up to `most` slabs whose blocks find room in other slabs of their class, the emptiest
  // first, or if free pages were found too scattered the last ones of the heap, none of which more
  // than half is in use. Returns how many.
  uint32_t CloseSparse(uint32_t most, uint64_t tick = 0);
  // Moves the class's hand over a few of its slabs, until one has hardly a record that was used
  // lately; that one is closed, and its blocks are appended to `out`. Returns the bytes of its
  // pages; 0 if there was none like that.
  uint64_t CloseNext(SizeClass c, uint64_t tick, std::vector<BlockRef>& out);
  // The same for all that lies in those pages: slabs are closed, and runs appended, too. False,
  // with nothing done: they hold index words, or rest, or are no pages of the heap.
  bool ClosePages(uint32_t first, uint32_t pages, uint64_t tick, std::vector<BlockRef>& out);
  // Opens again what was closed at `before` or earlier and has not become empty, of one class, or
  // of all (0). Returns how many slabs.
  uint32_t OpenClosed(SizeClass c = 0, uint64_t before = ~uint64_t{0});
  // Since the last CloseSparse, pages were not to be had in a row for somebody of whose length
  // enough were free.
  bool scattered() const { return scattered_; }
  uint32_t closed_slabs() const { return closed_slabs_; }
  uint32_t page_count() const { return page_count_; }
  // Whether the block that the word names lies in such a slab. Believes nothing of the word.
  bool InClosedSlab(SlotWord word) const {
    const uint64_t page = word.heap_offset() / kPageBytes;
    if (closed_slabs_ == 0 || page >= page_count_) return false;
    const uint32_t owner = pages_[page].owner;
    return owner < kRunFlag && slabs_[owner].closed;
  }

  uint64_t heap_bytes() const { return uint64_t{kPageBytes} * page_count_; }
  uint64_t allocated_blocks() const { return allocated_blocks_; }
  // Whether a slab of the class has a free block that may be handed out.
  bool HasFreeBlock(SizeClass c) const { return lists_[c].front != kNone; }
  uint64_t allocated_bytes() const { return allocated_bytes_; }
  uint64_t grace_bytes() const { return grace_bytes_; }
  uint64_t index_bytes() const { return index_bytes_; }  // TakeForIndex
  uint64_t free_bytes() const {
    return heap_bytes() - allocated_bytes_ - grace_bytes_ - index_bytes_;
  }
  // In pages that belong to no slab and no run, and don't rest.
  uint64_t free_page_bytes() const { return extents_.free_pages() * kPageBytes; }
  // Of these, in pieces that have room for a slab of the class. O(pieces of that length or more).
  uint64_t free_slab_bytes(SizeClass c) const;
  // How long slabs are in this heap.
  const SlabShapes& shapes() const { return shapes_; }
  // How many slab classes hold memory.
  uint32_t classes_in_use() const { return classes_in_use_; }
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
  static constexpr uint32_t kIndexOwner = kNone - 1;  // of a page: it holds index words

  struct Page {
    uint32_t owner = kNone;  // index of its slab, or kRunFlag | index of the run that starts here
    uint16_t base = 0;       // generation that blocks here start with
  };
  // bits 0..15 generation, 16..17 state, 18..31 next free block of the slab; of an allocated one:
  // bit 18 suspect, 19..21 uses
  using BlockMeta = uint32_t;
  static constexpr BlockMeta kSuspectBit = 1u << 18;
  static constexpr int kUsesShift = 19;
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
    bool closed = false;
    uint64_t closed_at = 0;  // tick
  };
  struct Run {
    uint32_t first_page = 0;
    uint32_t pages = 0;
    uint16_t generation = 0;
    State state = State::kFree;
    bool suspect = false;
    uint8_t uses = 0;
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
  // Where a class's hand stands: in slabs_ (or runs_), and in that slab.
  struct Hand {
    uint32_t owner = 0;
    uint32_t block = 0;
    uint32_t rounds = 0;
  };

  static constexpr BlockMeta Meta(uint16_t generation, State state, uint32_t next) {
    return generation | static_cast<uint32_t>(state) << 16 | next << 18;
  }
  static constexpr State StateOf(BlockMeta m) { return static_cast<State>(m >> 16 & 3); }

  std::optional<Place> Locate(uint64_t heap_offset, SizeClass c) const;
  State StateAt(Place place) const;
  uint16_t GenerationAt(Place place) const;
  // Of an allocated block of that generation; of a word's, the low bits of it.
  std::optional<Place> LocateAllocated(SlotWord word) const;
  std::optional<Place> LocateAllocated(BlockRef block) const;
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

  template <typename Visit>
  uint64_t VisitAllocated(uint64_t cursor, uint32_t most, Visit&& visit) const;
  void SetSuspect(Place place, bool suspect);
  uint32_t AdvanceSlabHand(SizeClass c, uint32_t most, uint32_t want, std::vector<BlockRef>& out);
  uint32_t AdvanceRunHand(uint32_t most, uint32_t want, std::vector<BlockRef>& out);
  static BlockRef BlockAt(const Slab& slab, uint32_t block);
  static BlockRef BlockAt(const Run& run);
  // Where the hand stands, come round if need be; null if there is no slab at all.
  Slab* NextSlab(Hand& hand);
  // Takes one use away; false if there is none left.
  static bool TakeUse(BlockMeta& meta);
  void CloseSlab(uint32_t slab, uint64_t tick);
  static bool CoolDown(Slab& slab);
  void AppendUsed(const Slab& slab, std::vector<BlockRef>& out) const;

  void PushFront(uint32_t slab);
  void PushBack(uint32_t slab);
  void Unlink(uint32_t slab);

  const uint64_t grace_;
  const uint32_t page_count_;
  const SlabShapes shapes_;
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
  std::array<Hand, kRunClass + 1> hands_{};
  uint32_t classes_in_use_ = 0;
  uint32_t closed_slabs_ = 0;
  bool scattered_ = false;
  uint64_t allocated_blocks_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint64_t grace_bytes_ = 0;
  uint64_t index_bytes_ = 0;
  uint64_t block_metas_ = 0;
};

}  // namespace dunlin
