#include "common/memory/block_pool.h"

#include "common/base/check.h"
#include "common/memory/page_history.h"

namespace dunlin {

static_assert(kMaxBlocksPerSlab < (1u << 14) - 1, "the free list's links have 14 bits");

BlockPool::BlockPool(uint64_t heap_bytes, uint64_t grace, uint32_t slab_pages)
    : grace_(grace),
      page_count_(static_cast<uint32_t>(heap_bytes / kPageBytes)),
      shapes_(slab_pages),
      pages_(page_count_),
      extents_(page_count_) {
  DUNLIN_CHECK_LE(heap_bytes, SlotWord::kHeapLimit);
  DUNLIN_CHECK_GE(grace, 1u);
}

// Lists of slabs with a free block.

void BlockPool::PushFront(uint32_t index) {
  SlabList& list = lists_[slabs_[index].size_class];
  slabs_[index].previous = kNone;
  slabs_[index].next = list.front;
  (list.front == kNone ? list.back : slabs_[list.front].previous) = index;
  list.front = index;
}

void BlockPool::PushBack(uint32_t index) {
  SlabList& list = lists_[slabs_[index].size_class];
  slabs_[index].next = kNone;
  slabs_[index].previous = list.back;
  (list.back == kNone ? list.front : slabs_[list.back].next) = index;
  list.back = index;
}

void BlockPool::Unlink(uint32_t index) {
  Slab& slab = slabs_[index];
  SlabList& list = lists_[slab.size_class];
  (slab.previous == kNone ? list.front : slabs_[slab.previous].next) = slab.next;
  (slab.next == kNone ? list.back : slabs_[slab.next].previous) = slab.previous;
}

// Pages.

void BlockPool::EndRests(uint64_t tick) {
  while (!resting_.empty() && resting_.front().until <= tick) {
    extents_.Give(resting_.front().first_page, resting_.front().pages);
    resting_pages_ -= resting_.front().pages;
    resting_.pop_front();
  }
}

void BlockPool::GivePages(uint32_t first, uint32_t pages, bool rests, uint64_t tick) {
  if (!rests) {
    extents_.Give(first, pages);
    return;
  }
  resting_.push_back({tick + kGenerationWindow * grace_, first, pages});
  resting_pages_ += pages;
}

void BlockPool::ReclaimEmptySlabs(uint64_t tick) {
  for (SizeClass c = 1; c <= kLastSlabClass; ++c) {
    while (lists_[c].empty > 0) RetireSlab(lists_[c].back, tick);
  }
}

std::optional<uint32_t> BlockPool::TakePages(uint32_t pages, uint64_t tick) {
  EndRests(tick);
  std::optional<uint32_t> first = extents_.Take(pages);
  if (!first) {
    ReclaimEmptySlabs(tick);
    first = extents_.Take(pages);
  }
  if (!first && extents_.free_pages() >= pages) scattered_ = true;
  return first;
}

std::optional<uint64_t> BlockPool::TakeForIndex(uint32_t pages, uint64_t tick) {
  std::optional<uint32_t> first = TakePages(pages, tick);
  if (!first) return std::nullopt;
  for (uint32_t p = 0; p < pages; ++p) pages_[*first + p].owner = kIndexOwner;
  index_bytes_ += uint64_t{pages} * kPageBytes;
  return uint64_t{*first} * kPageBytes;
}

// Slabs.

bool BlockPool::FormatSlab(SizeClass c, uint64_t tick) {
  const SlabShape shape = shapes_[c];
  std::optional<uint32_t> first = TakePages(shape.pages, tick);
  if (!first) return false;
  uint32_t index = static_cast<uint32_t>(slabs_.size());
  if (unused_slabs_.empty()) {
    slabs_.emplace_back();
  } else {
    index = unused_slabs_.back();
    unused_slabs_.pop_back();
  }
  Slab& slab = slabs_[index];
  slab.blocks = std::make_unique_for_overwrite<BlockMeta[]>(shape.blocks);
  slab.first_page = *first;
  slab.pages = shape.pages;
  slab.block_count = slab.free_count = shape.blocks;
  slab.free_head = 0;
  slab.size_class = c;
  for (uint32_t p = 0; p < shape.pages; ++p) pages_[*first + p].owner = index;
  for (uint32_t b = 0; b < shape.blocks; ++b) {
    uint16_t base = pages_[*first + b * BlockBytes(c) / kPageBytes].base;
    slab.blocks[b] = Meta(base, State::kFree, b + 1 < shape.blocks ? b + 1 : kEndOfList);
  }
  PushBack(index);
  ++lists_[c].empty;
  use_[c].free += shape.blocks;
  if (use_[c].bytes == 0) ++classes_in_use_;
  use_[c].bytes += uint64_t{shape.pages} * kPageBytes;
  block_metas_ += shape.blocks;
  return true;
}

// Chooses the page's next base; returns whether it has to rest.
bool BlockPool::RetireSlabPage(const Slab& slab, uint32_t page_of_slab) {
  uint32_t block_bytes = BlockBytes(slab.size_class);
  uint32_t begin = (page_of_slab * kPageBytes + block_bytes - 1) / block_bytes;
  uint32_t end = ((page_of_slab + 1) * kPageBytes + block_bytes - 1) / block_bytes;
  if (end > slab.block_count) end = slab.block_count;
  std::array<uint16_t, kPageBytes / kSmallestBlock> generations;
  uint32_t count = 0;
  for (uint32_t b = begin; b < end; ++b) {
    generations[count++] = static_cast<uint16_t>(slab.blocks[b]);
  }
  Page& page = pages_[slab.first_page + page_of_slab];
  page.owner = kNone;
  if (count == 0) return false;
  NextBase next = RetirePage({generations.data(), count});
  page.base = next.base;
  return next.rests;
}

void BlockPool::RetireSlab(uint32_t index, uint64_t tick) {
  Slab& slab = slabs_[index];
  SizeClass c = slab.size_class;
  DUNLIN_CHECK_EQ(slab.free_count, slab.block_count);
  bool rests = false;
  for (uint32_t p = 0; p < slab.pages; ++p) rests |= RetireSlabPage(slab, p);
  if (slab.closed) {
    --closed_slabs_;
    use_[c].closed -= slab.block_count;
  } else {
    Unlink(index);
    --lists_[c].empty;
  }
  use_[c].free -= slab.block_count;
  use_[c].bytes -= uint64_t{slab.pages} * kPageBytes;
  if (use_[c].bytes == 0) --classes_in_use_;
  block_metas_ -= slab.block_count;
  GivePages(slab.first_page, slab.pages, rests, tick);
  slab = Slab();
  unused_slabs_.push_back(index);
}

uint32_t BlockPool::Take(SizeClass c, uint32_t want, uint64_t tick, std::vector<BlockRef>& out) {
  DUNLIN_CHECK(IsSlabClass(c));
  uint32_t block_bytes = BlockBytes(c);
  uint32_t taken = 0;
  while (taken < want) {
    if (lists_[c].front == kNone && !FormatSlab(c, tick)) break;
    uint32_t index = lists_[c].front;
    Slab& slab = slabs_[index];
    if (slab.free_count == slab.block_count) --lists_[c].empty;
    while (taken < want && slab.free_count > 0) {
      BlockMeta& meta = slab.blocks[slab.free_head];
      uint16_t generation = static_cast<uint16_t>(meta);
      out.emplace_back(
          uint64_t{slab.first_page} * kPageBytes + uint64_t{slab.free_head} * block_bytes, c,
          generation);
      slab.free_head = static_cast<uint16_t>(meta >> 18);
      meta = Meta(generation, State::kAllocated, 0);
      --slab.free_count;
      ++taken;
    }
    if (slab.free_count == 0) Unlink(index);
  }
  use_[c].allocated += taken;
  allocated_blocks_ += taken;
  use_[c].free -= taken;
  allocated_bytes_ += uint64_t{taken} * block_bytes;
  return taken;
}

void BlockPool::EndSlabGrace(uint32_t index, uint32_t block, uint64_t tick) {
  Slab& slab = slabs_[index];
  SizeClass c = slab.size_class;
  uint16_t generation = static_cast<uint16_t>(slab.blocks[block]) + 1;
  slab.blocks[block] = Meta(generation, State::kFree, slab.free_head);
  slab.free_head = static_cast<uint16_t>(block);
  ++slab.free_count;
  --use_[c].grace;
  ++use_[c].free;
  grace_bytes_ -= BlockBytes(c);
  if (slab.closed) {
    ++use_[c].closed;
    if (slab.free_count == slab.block_count) RetireSlab(index, tick);
    return;
  }
  if (slab.free_count == slab.block_count) {
    // To the back: partly used slabs are filled first, so that this one stays wholly free.
    if (slab.free_count > 1) Unlink(index);
    PushBack(index);
    // One is kept, so that a class that ebbs and flows doesn't format again and again.
    if (++lists_[c].empty > 1) RetireSlab(index, tick);
  } else if (slab.free_count == 1) {
    PushFront(index);
  }
}

// Runs.

std::optional<BlockRef> BlockPool::TakeRun(uint64_t bytes, uint64_t tick) {
  DUNLIN_CHECK_GT(bytes, 0u);
  if (bytes > heap_bytes()) return std::nullopt;
  uint32_t pages = static_cast<uint32_t>(RunBytes(bytes) / kPageBytes);
  std::optional<uint32_t> first = TakePages(pages, tick);
  if (!first) return std::nullopt;
  uint32_t index = static_cast<uint32_t>(runs_.size());
  if (unused_runs_.empty()) {
    runs_.emplace_back();
  } else {
    index = unused_runs_.back();
    unused_runs_.pop_back();
  }
  // Only its first page can be named by a word, so only that one has a generation.
  Page& page = pages_[*first];
  page.owner = kRunFlag | index;
  runs_[index] = {*first, pages, page.base, State::kAllocated, false, 0};
  ++use_[kRunClass].allocated;
  ++allocated_blocks_;
  use_[kRunClass].bytes += uint64_t{pages} * kPageBytes;
  allocated_bytes_ += uint64_t{pages} * kPageBytes;
  return BlockRef(uint64_t{*first} * kPageBytes, kRunClass, page.base);
}

void BlockPool::EndRunGrace(uint32_t index, uint64_t tick) {
  Run run = runs_[index];
  Page& page = pages_[run.first_page];
  uint16_t generation = run.generation + 1;
  NextBase next = RetirePage({&generation, 1});
  page.base = next.base;
  page.owner = kNone;
  --use_[kRunClass].grace;
  use_[kRunClass].bytes -= uint64_t{run.pages} * kPageBytes;
  grace_bytes_ -= uint64_t{run.pages} * kPageBytes;
  GivePages(run.first_page, run.pages, next.rests, tick);
  runs_[index] = Run();
  unused_runs_.push_back(index);
}

// Blocks.

std::optional<BlockPool::Place> BlockPool::Locate(uint64_t heap_offset, SizeClass c) const {
  uint64_t page = heap_offset / kPageBytes;
  if (page >= page_count_ || pages_[page].owner == kNone) return std::nullopt;
  uint32_t owner = pages_[page].owner;
  if (owner == kIndexOwner) return std::nullopt;
  if ((owner & kRunFlag) != 0) {
    if (c != kRunClass || heap_offset % kPageBytes != 0) return std::nullopt;
    return Place{owner, 0};
  }
  const Slab& slab = slabs_[owner];
  if (c != slab.size_class) return std::nullopt;
  uint32_t within = static_cast<uint32_t>(heap_offset - uint64_t{slab.first_page} * kPageBytes);
  uint32_t block_bytes = BlockBytes(c);
  uint32_t index = within / block_bytes;
  if (index * block_bytes != within || index >= slab.block_count) return std::nullopt;
  return Place{owner, index};
}

BlockPool::State BlockPool::StateAt(Place place) const {
  if ((place.owner & kRunFlag) != 0) return runs_[place.owner & ~kRunFlag].state;
  return StateOf(slabs_[place.owner].blocks[place.index]);
}

uint16_t BlockPool::GenerationAt(Place place) const {
  if ((place.owner & kRunFlag) != 0) return runs_[place.owner & ~kRunFlag].generation;
  return static_cast<uint16_t>(slabs_[place.owner].blocks[place.index]);
}

std::optional<BlockPool::Place> BlockPool::LocateAllocated(SlotWord word) const {
  std::optional<Place> place = Locate(word.heap_offset(), word.size_class());
  if (!place || StateAt(*place) != State::kAllocated) return std::nullopt;
  const bool same = (GenerationAt(*place) & SlotWord::kGenerationMask) == word.generation();
  return same ? place : std::nullopt;
}

std::optional<BlockPool::Place> BlockPool::LocateAllocated(BlockRef block) const {
  std::optional<Place> place = Locate(block.heap_offset(), block.size_class());
  if (!place || StateAt(*place) != State::kAllocated) return std::nullopt;
  return GenerationAt(*place) == block.generation() ? place : std::nullopt;
}

std::optional<BlockRef> BlockPool::Find(SlotWord word) const {
  std::optional<Place> place = LocateAllocated(word);
  if (!place) return std::nullopt;
  return BlockRef(word.heap_offset(), word.size_class(), GenerationAt(*place));
}

bool BlockPool::Allocated(BlockRef block) const { return LocateAllocated(block).has_value(); }

void BlockPool::Prefetch(SlotWord word) const {
  std::optional<Place> place = Locate(word.heap_offset(), word.size_class());
  if (!place || (place->owner & kRunFlag) != 0) return;
  __builtin_prefetch(&slabs_[place->owner].blocks[place->index], 1);
}

uint64_t BlockPool::BytesOf(BlockRef block) const {
  if (block.size_class() != kRunClass) return BlockBytes(block.size_class());
  std::optional<Place> place = Locate(block.heap_offset(), kRunClass);
  DUNLIN_CHECK(place.has_value());
  return uint64_t{runs_[place->owner & ~kRunFlag].pages} * kPageBytes;
}

void BlockPool::MoveToGrace(Place place, BlockRef block) {
  uint64_t bytes;
  if ((place.owner & kRunFlag) != 0) {
    Run& run = runs_[place.owner & ~kRunFlag];
    run.state = State::kGrace;
    bytes = uint64_t{run.pages} * kPageBytes;
  } else {
    slabs_[place.owner].blocks[place.index] = Meta(block.generation(), State::kGrace, 0);
    bytes = BlockBytes(block.size_class());
  }
  --use_[block.size_class()].allocated;
  --allocated_blocks_;
  ++use_[block.size_class()].grace;
  allocated_bytes_ -= bytes;
  grace_bytes_ += bytes;
}

bool BlockPool::StartGrace(BlockRef block) {
  std::optional<Place> place = LocateAllocated(block);
  if (place) MoveToGrace(*place, block);
  return place.has_value();
}

std::optional<BlockRef> BlockPool::StartGrace(SlotWord word) {
  std::optional<Place> place = LocateAllocated(word);
  if (!place) return std::nullopt;
  BlockRef block(word.heap_offset(), word.size_class(), GenerationAt(*place));
  MoveToGrace(*place, block);
  return block;
}

void BlockPool::EndGrace(BlockRef block, uint64_t tick) {
  std::optional<Place> place = Locate(block.heap_offset(), block.size_class());
  DUNLIN_CHECK(place && StateAt(*place) == State::kGrace &&
               GenerationAt(*place) == block.generation());
  if (block.size_class() == kRunClass) {
    EndRunGrace(place->owner & ~kRunFlag, tick);
  } else {
    EndSlabGrace(place->owner, place->index, tick);
  }
}

uint64_t BlockPool::free_slab_bytes(SizeClass c) const {
  const uint32_t pages = shapes_[c].pages;
  return extents_.Pieces(pages) * pages * kPageBytes;
}

uint64_t BlockPool::metadata_bytes() const {
  return pages_.size() * sizeof(Page) + slabs_.capacity() * sizeof(Slab) +
         runs_.capacity() * sizeof(Run) + block_metas_ * sizeof(BlockMeta) +
         (unused_slabs_.capacity() + unused_runs_.capacity()) * sizeof(uint32_t) +
         extents_.extents() * 2 * 48;
}

std::string BlockPool::Audit() const {
  uint64_t allocated = 0;
  uint64_t grace = 0;
  uint64_t held_pages = 0;
  for (const Slab& slab : slabs_) {
    if (!slab.blocks) continue;
    held_pages += slab.pages;
    uint32_t free = 0;
    for (uint32_t b = 0; b < slab.block_count; ++b) {
      State state = StateOf(slab.blocks[b]);
      if (state == State::kAllocated) allocated += BlockBytes(slab.size_class);
      if (state == State::kGrace) grace += BlockBytes(slab.size_class);
      if (state == State::kFree) ++free;
    }
    uint32_t listed = 0;
    for (uint32_t b = slab.free_head; b != kEndOfList && listed <= free; b = slab.blocks[b] >> 18) {
      ++listed;
    }
    if (free != slab.free_count || listed != free) {
      return "slab at page " + std::to_string(slab.first_page) + ": " + std::to_string(free) +
             " free blocks, " + std::to_string(listed) + " listed, " +
             std::to_string(slab.free_count) + " counted";
    }
  }
  for (const Run& run : runs_) {
    uint64_t bytes = uint64_t{run.pages} * kPageBytes;
    held_pages += run.pages;
    if (run.state == State::kAllocated) allocated += bytes;
    if (run.state == State::kGrace) grace += bytes;
  }
  if (allocated != allocated_bytes_ || grace != grace_bytes_) {
    return "allocated " + std::to_string(allocated) + " counted as " +
           std::to_string(allocated_bytes_) + ", in grace " + std::to_string(grace) +
           " counted as " + std::to_string(grace_bytes_);
  }
  held_pages += index_bytes_ / kPageBytes;
  if (held_pages + extents_.free_pages() + resting_pages_ != page_count_) {
    return "pages: " + std::to_string(held_pages) + " held, " +
           std::to_string(extents_.free_pages()) + " free, " + std::to_string(resting_pages_) +
           " resting, of " + std::to_string(page_count_);
  }
  return "";
}

}  // namespace dunlin
