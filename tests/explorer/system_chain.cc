#include <cstring>

#include "common/fabric/follow.h"
#include "common/layout/word.h"
#include "tests/explorer/chain_steps.h"
#include "tests/explorer/digest.h"
#include "tests/explorer/index_view.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {
bool System::Post(uint32_t c) {
  Client& k = client(c);
  k.posted = Clock(c);
  k.sampled = 0;
  k.along = 0;
  Follow& follow = k.chain.follow;
  follow.wanted = follow.wanted && scenario_.follows && MayFollow(k.chain, kRegionBytes);
  k.phase = Phase::kChain;
  return TakeWorks(c, 0) && RunEager(c);
}

// The chain's works from `first` on are to be done.
bool System::TakeWorks(uint32_t c, uint32_t first) {
  Client& k = client(c);
  for (uint32_t i = first; i < k.chain.count; ++i) {
    Work& work = k.chain.work[i];
    uint32_t bytes = TouchedBytes(work);
    if (work.remote > kRegionBytes || bytes > kRegionBytes - work.remote || work.remote % 8 != 0) {
      Violate("a chain leaves the region");
      return false;
    }
    k.remaining[i] = (uint32_t{1} << ((bytes + 7) / 8)) - 1;
    if (work.verb != Verb::kRead) continue;
    if (work.by_reference && scenario_.references) {
      // Sampled when the machine looks at it.
      work.data = world_->region + work.remote;
      k.remaining[i] = 0;
      continue;
    }
    std::byte* target = SinkOf(work, k.scratch);
    // What an earlier chain left there must not tell states apart.
    std::memset(target, 0, work.length);
    work.data = target;
  }
  return true;
}

// A fabric that grants the chain's wish goes on, word by word like any other, once all else of the
// chain is done: with the READs, then with the CASes.
bool System::GoOnAlong(uint32_t c) {
  Client& k = client(c);
  if (!k.chain.follow.wanted) return false;
  while (k.along < 2 && ChainDone(k)) {
    const uint32_t before = k.chain.count;
    const uint32_t more = k.along++ == 0 ? AppendFollowed(k.chain) : AppendSwing(k.chain);
    if (more != 0) return TakeWorks(c, before);
  }
  return false;
}

// Who swings along is also who frees blocks, and does one thing after the other.
bool System::HoldsUpReuse(const Client& k) const {
  if (k.phase != Phase::kChain || Mutated(Mutation::kSwingOfAnyAge)) return false;
  const Follow& follow = k.chain.follow;
  return follow.wanted && follow.swing.wanted && k.sampled != 0 && !ChainDone(k);
}

bool System::ChainDone(const Client& k) const {
  for (uint32_t i = 0; i < k.chain.count; ++i) {
    if (k.remaining[i] != 0) return false;
  }
  return true;
}

uint32_t System::EnabledVerbs(const Client& k) const {
  return explorer::EnabledVerbs(k.chain, [&](uint32_t i) { return k.remaining[i] != 0; });
}

// Whether it matters when this word is read or written.
bool System::Moves(const Work& work, uint32_t word) const {
  if (IsAtomic(work.verb)) return true;
  uint64_t address = work.remote + word * kWordBytes;
  if (address >= kHeapOffset) {
    if (!scenario_.reuse) return false;
    uint64_t block = (address - kHeapOffset) / BlockBytes(scenario_.block_class);
    if (block >= kMaxBlocks || (scenario_.reused_blocks >> block & 1) == 0) return false;
    return work.verb != Verb::kWrite || world_->blocks[block].fresh == 0;
  }
  if (PlaceInBucket(geometry_, address) == 0) return scenario_.headers_move;
  if (scenario_.freezes != 0 || scenario_.splits != 0) return true;
  SlotWord now(WordAt(address));
  for (uint32_t key = 0; key < scenario_.keys.size(); ++key) {
    if (!scenario_.keys[key].touched && now.live() && HoldsKey(now, key)) return false;
  }
  return true;
}

bool System::RunEager(uint32_t c) {
  Client& k = client(c);
  for (bool again = true; again && violation_.empty();) {
    again = false;
    uint32_t enabled = EnabledVerbs(k);
    for (uint32_t i = 0; i < k.chain.count; ++i) {
      if ((enabled >> i & 1) == 0) continue;
      for (uint32_t word = 0; word < 32; ++word) {
        if ((k.remaining[i] >> word & 1) == 0 || Moves(k.chain.work[i], word)) continue;
        DoWord(c, i, word);
        again = true;
      }
    }
    again = GoOnAlong(c) || again;
  }
  return ChainDone(k) && CompletionIsLocal();
}

void System::Complete(uint32_t c) {
  Client& k = client(c);
  k.chain.outcome = ChainOutcome::kDone;
  k.now = Clock(c);
  k.past = Mix(k.past, k.sampled);
  k.past = Mix(k.past, k.now << 8 | k.posted);
  Run(c);
}

void System::DoWord(uint32_t c, uint32_t verb, uint32_t word) {
  Client& k = client(c);
  Work& work = k.chain.work[verb];
  k.remaining[verb] &= ~(1u << word);
  uint64_t address = work.remote + word * kWordBytes;
  uint64_t found = WordAt(address);
  switch (work.verb) {
    case Verb::kRead: {
      const Part part = PartAt(work, word);
      const uint32_t n = part.end - part.begin;
      ReadPart(work, part, k.scratch, world_->region);
      if (n < kWordBytes) found &= (uint64_t{1} << (8 * n)) - 1;
      Log([&] {
        return ClientName(c) + ": READ  " + AddressName(address) + " = " + WordName(address, found);
      });
      break;
    }
    case Verb::kReadWord:
      work.result = found;
      Log([&] {
        return ClientName(c) + ": READ  " + AddressName(address) + " = " + WordName(address, found);
      });
      break;
    case Verb::kWrite:
      DoWrite(c, work, word);
      return;
    case Verb::kCompareSwap:
      found = CompareSwap(c, address, work.compare, work.swap);
      work.result = found;
      Log([&] {
        return ClientName(c) + ": CAS   " + AddressName(address) + " " +
               WordName(address, work.compare) + " -> " + WordName(address, work.swap) +
               (found == work.compare ? "" : ": FAILS, finds " + WordName(address, found));
      });
      break;
    case Verb::kFetchAdd:
      Violate("no machine uses FETCH_ADD");
      break;
  }
  k.sampled += Mix(Mix(verb * 64 + word + 1, found), 0x51);
}

void System::DoWrite(uint32_t c, const Work& work, uint32_t word) {
  Client& k = client(c);
  uint64_t address = work.remote + word * kWordBytes;
  WritePart(work, PartAt(work, word), k.scratch, world_->region);
  book_.OnWrite(c, address);
  Log([&] {
    return ClientName(c) + ": WRITE " + AddressName(address) + " word " + std::to_string(word);
  });
}

uint64_t System::CompareSwap(uint32_t actor, uint64_t address, uint64_t compare, uint64_t swap) {
  uint64_t found = WordAt(address);
  if (found != compare || address >= kHeapOffset) {
    if (address >= kHeapOffset) Violate("an atomic outside the index");
    return found;
  }
  SetPlainWord(world_->region + address, swap);
  if (PlaceInBucket(geometry_, address) != 0) OnSlotSwap(actor, address, compare, swap);
  NoteChange(actor);
  return found;
}

void System::OnSlotSwap(uint32_t actor, uint64_t address, uint64_t from, uint64_t to) {
  if (actor == kSplitter) {
    // It moves words about; no block is linked or unlinked.
    if (SlotWord(to).moved() && IsPublished(world_->directory, address)) {
      Violate("a slot is MOVED though no newer directory is there to be read");
    }
    return;
  }
  if (SlotWord(from).SameRecord(SlotWord(to))) return;
  book_.OnSwing(actor, address, SlotWord(from), SlotWord(to));
  FollowScans();
}

// Unless slots are frozen only a put waits for others, so only there it matters that something has
// changed.
void System::NoteChange(uint32_t actor) {
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    Client& k = client(c);
    if (k.phase == Phase::kIdle || k.phase == Phase::kFinished || k.phase == Phase::kDead) continue;
    if (c == actor) continue;
    k.futile = 0;
    const bool any_waits = scenario_.freezes != 0 || scenario_.splits != 0;
    if (k.machine == MachineKind::kPut || any_waits) k.changed = 1;
  }
}

}  // namespace dunlin::explorer
