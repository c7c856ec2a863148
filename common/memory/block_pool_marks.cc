#include <algorithm>

#include "common/base/check.h"
#include "common/memory/block_pool.h"

namespace dunlin {

BlockRef BlockPool::BlockAt(const Slab& slab, uint32_t block) {
  return BlockRef(
      uint64_t{slab.first_page} * kPageBytes + uint64_t{block} * BlockBytes(slab.size_class),
      slab.size_class, static_cast<uint16_t>(slab.blocks[block]));
}

BlockRef BlockPool::BlockAt(const Run& run) {
  return BlockRef(uint64_t{run.first_page} * kPageBytes, kRunClass, run.generation);
}

// Suspicion.

// The cursor counts slabs, then runs.
template <typename Visit>
uint64_t BlockPool::VisitAllocated(uint64_t cursor, uint32_t most, Visit&& visit) const {
  uint64_t passed = 0;
  for (; cursor < slabs_.size() && passed < most; ++cursor) {
    const Slab& slab = slabs_[cursor];
    ++passed;
    if (!slab.blocks) continue;
    passed += slab.block_count;
    for (uint32_t b = 0; b < slab.block_count; ++b) {
      if (StateOf(slab.blocks[b]) != State::kAllocated) continue;
      visit(Place{static_cast<uint32_t>(cursor), b});
    }
  }
  // Slabs may have been added in between; a run is then visited twice, or none of them is missed.
  for (; cursor >= slabs_.size() && passed < most; ++cursor, ++passed) {
    const uint64_t run = cursor - slabs_.size();
    if (run >= runs_.size()) return kMarksEnd;
    if (runs_[run].state != State::kAllocated) continue;
    visit(Place{static_cast<uint32_t>(kRunFlag | run), 0});
  }
  return cursor;
}

void BlockPool::SetSuspect(Place place, bool suspect) {
  if ((place.owner & kRunFlag) != 0) {
    runs_[place.owner & ~kRunFlag].suspect = suspect;
    return;
  }
  BlockMeta& meta = slabs_[place.owner].blocks[place.index];
  meta = suspect ? meta | kSuspectBit : meta & ~kSuspectBit;
}

uint64_t BlockPool::SuspectAll(uint64_t cursor, uint32_t most) {
  return VisitAllocated(cursor, most, [this](Place place) { SetSuspect(place, true); });
}

uint64_t BlockPool::CollectSuspects(uint64_t cursor, uint32_t most,
                                    std::vector<BlockRef>& out) const {
  return VisitAllocated(cursor, most, [&](Place place) {
    if ((place.owner & kRunFlag) != 0) {
      const Run& run = runs_[place.owner & ~kRunFlag];
      if (run.suspect) out.push_back(BlockAt(run));
      return;
    }
    const Slab& slab = slabs_[place.owner];
    if ((slab.blocks[place.index] & kSuspectBit) != 0) out.push_back(BlockAt(slab, place.index));
  });
}

void BlockPool::Acquit(SlotWord word) {
  if (std::optional<Place> place = LocateAllocated(word)) SetSuspect(*place, false);
}

void BlockPool::Acquit(BlockRef block) {
  if (std::optional<Place> place = LocateAllocated(block)) SetSuspect(*place, false);
}

// Use.

void BlockPool::NoteUse(SlotWord word) {
  std::optional<Place> place = LocateAllocated(word);
  if (!place) return;
  if ((place->owner & kRunFlag) != 0) {
    Run& run = runs_[place->owner & ~kRunFlag];
    if (run.uses < kMostUses) ++run.uses;
    return;
  }
  BlockMeta& meta = slabs_[place->owner].blocks[place->index];
  if ((meta >> kUsesShift & kMostUses) < kMostUses) meta += 1u << kUsesShift;
}

bool BlockPool::TakeUse(BlockMeta& meta) {
  if ((meta >> kUsesShift & kMostUses) == 0) return false;
  meta -= 1u << kUsesShift;
  return true;
}

BlockPool::Slab* BlockPool::NextSlab(Hand& hand) {
  if (slabs_.empty()) return nullptr;
  if (hand.owner >= slabs_.size()) hand = {0, 0, hand.rounds + 1};
  return &slabs_[hand.owner];
}

uint32_t BlockPool::AdvanceHand(SizeClass c, uint32_t most, uint32_t want,
                                std::vector<BlockRef>& out) {
  return c == kRunClass ? AdvanceRunHand(most, want, out) : AdvanceSlabHand(c, most, want, out);
}

uint32_t BlockPool::AdvanceSlabHand(SizeClass c, uint32_t most, uint32_t want,
                                    std::vector<BlockRef>& out) {
  Hand& hand = hands_[c];
  const size_t enough = out.size() + want;
  uint32_t passed = 0;
  // Whole slabs without an allocated block of ours; a round of them means that there is none.
  for (size_t skipped = 0; passed < most && out.size() < enough && skipped <= slabs_.size();) {
    Slab* const next = NextSlab(hand);
    if (next == nullptr) break;
    Slab& slab = *next;
    if (!slab.blocks || slab.size_class != c || hand.block >= slab.block_count) {
      hand = {hand.owner + 1, 0, hand.rounds};
      ++skipped;
      continue;
    }
    BlockMeta& meta = slab.blocks[hand.block];
    if (StateOf(meta) == State::kAllocated) {
      skipped = 0;
      ++passed;
      if (!TakeUse(meta)) out.push_back(BlockAt(slab, hand.block));
    }
    ++hand.block;
  }
  return passed;
}

uint32_t BlockPool::AdvanceRunHand(uint32_t most, uint32_t want, std::vector<BlockRef>& out) {
  Hand& hand = hands_[kRunClass];
  const size_t enough = out.size() + want;
  uint32_t passed = 0;
  for (size_t steps = 0; steps < runs_.size() && passed < most && out.size() < enough; ++steps) {
    if (hand.owner >= runs_.size()) hand = {0, 0, hand.rounds + 1};
    Run& run = runs_[hand.owner++];
    if (run.state != State::kAllocated) continue;
    ++passed;
    if (run.uses != 0) {
      --run.uses;
    } else {
      out.push_back(BlockAt(run));
    }
  }
  return passed;
}

// Sparse slabs.

void BlockPool::CloseSlab(uint32_t index, uint64_t tick) {
  Slab& slab = slabs_[index];
  DUNLIN_CHECK(!slab.closed && slab.free_count < slab.block_count);
  if (slab.free_count > 0) Unlink(index);
  slab.closed = true;
  slab.closed_at = tick;
  use_[slab.size_class].closed += slab.free_count;
  ++closed_slabs_;
}

uint32_t BlockPool::CloseSparse(uint32_t most, uint64_t tick) {
  uint32_t closed = 0;
  for (SizeClass c = 1; c <= kLastSlabClass && closed < most; ++c) {
    // Only what is listed has free blocks, and only in listed slabs there is room for others.
    uint64_t room = 0;
    std::vector<std::pair<uint32_t, uint32_t>> sparse;  // the least is closed first; slab
    for (uint32_t i = lists_[c].front; i != kNone; i = slabs_[i].next) {
      const Slab& slab = slabs_[i];
      room += slab.free_count;
      const uint32_t used = slab.block_count - slab.free_count;
      if (used == 0 || used * 2 > slab.block_count) continue;
      sparse.emplace_back(scattered_ ? page_count_ - slab.first_page : used, i);
    }
    std::sort(sparse.begin(), sparse.end());
    for (auto [order, index] : sparse) {
      if (closed == most) break;
      const uint64_t need = slabs_[index].block_count;
      if (room < need) continue;
      room -= need;
      CloseSlab(index, tick);
      ++closed;
    }
  }
  scattered_ = false;
  return closed;
}

void BlockPool::AppendUsed(const Slab& slab, std::vector<BlockRef>& out) const {
  for (uint32_t b = 0; b < slab.block_count; ++b) {
    if (StateOf(slab.blocks[b]) == State::kAllocated) out.push_back(BlockAt(slab, b));
  }
}

// Takes one use off each block of the slab; whether few of its blocks had any.
bool BlockPool::CoolDown(Slab& slab) {
  uint32_t used = 0;
  uint32_t allocated = 0;
  for (uint32_t b = 0; b < slab.block_count; ++b) {
    BlockMeta& meta = slab.blocks[b];
    if (StateOf(meta) != State::kAllocated) continue;
    ++allocated;
    used += TakeUse(meta);
  }
  return used * 4 <= allocated;
}

uint64_t BlockPool::CloseNext(SizeClass c, uint64_t tick, std::vector<BlockRef>& out) {
  constexpr uint32_t kMostCooled = 4;
  Hand& hand = hands_[c];
  uint32_t cooled = 0;
  for (size_t looked = 0; looked < slabs_.size() && cooled < kMostCooled; ++looked) {
    Slab& slab = *NextSlab(hand);
    const uint32_t index = hand.owner;
    hand = {index + 1, 0, hand.rounds};
    if (!slab.blocks || slab.size_class != c || slab.closed) continue;
    if (slab.free_count == slab.block_count) continue;
    ++cooled;
    if (!CoolDown(slab)) continue;
    CloseSlab(index, tick);
    AppendUsed(slab, out);
    return uint64_t{slab.pages} * kPageBytes;
  }
  return 0;
}

bool BlockPool::ClosePages(uint32_t first, uint32_t pages, uint64_t tick,
                           std::vector<BlockRef>& out) {
  if (pages > page_count_ || first > page_count_ - pages) return false;
  for (uint32_t p = first; p < first + pages; ++p) {
    if (pages_[p].owner == kIndexOwner) return false;
  }
  uint32_t last = kNone;
  for (uint32_t p = first; p < first + pages; ++p) {
    const uint32_t owner = pages_[p].owner;
    if (owner >= kRunFlag || owner == last) continue;
    last = owner;
    const Slab& slab = slabs_[owner];
    AppendUsed(slab, out);
    if (!slab.closed && slab.free_count < slab.block_count) CloseSlab(owner, tick);
  }
  // Only a run's first page knows its owner.
  for (const Run& run : runs_) {
    if (run.state != State::kAllocated) continue;
    if (run.first_page >= first + pages || run.first_page + run.pages <= first) continue;
    out.push_back(BlockAt(run));
  }
  return true;
}

uint32_t BlockPool::OpenClosed(SizeClass c, uint64_t before) {
  uint32_t opened = 0;
  for (uint32_t i = 0; i < slabs_.size() && closed_slabs_ != 0; ++i) {
    Slab& slab = slabs_[i];
    if (!slab.blocks || !slab.closed || (c != 0 && slab.size_class != c)) continue;
    if (slab.closed_at > before) continue;
    slab.closed = false;
    use_[slab.size_class].closed -= slab.free_count;
    --closed_slabs_;
    ++opened;
    if (slab.free_count > 0) PushFront(i);
  }
  return opened;
}

}  // namespace dunlin
