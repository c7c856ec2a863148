#include "tests/explorer/heap_book.h"

#include <algorithm>
#include <cstring>

#include "common/layout/record.h"
#include "common/layout/word.h"
#include "tests/explorer/mutations.h"

namespace dunlin::explorer {

bool HeapBook::Reusable(uint32_t i) const {
  const BlockTruth& block = world_.blocks[i];
  return scenario_.reuse && (scenario_.reused_blocks >> i & 1) != 0 &&
         block.state == BlockState::kReturned && world_.tick >= block.reuse_from;
}

uint32_t HeapBook::Available() const {
  for (uint32_t i = 0; i < scenario_.blocks; ++i) {
    if (Reusable(i)) return i;
  }
  for (uint32_t i = 0; i < scenario_.blocks; ++i) {
    if (world_.blocks[i].state == BlockState::kFree) return i;
  }
  return kMaxBlocks;
}

bool HeapBook::ReuseAvailable() const {
  uint32_t i = Available();
  return i != kMaxBlocks && world_.blocks[i].state == BlockState::kReturned;
}

SlotWord HeapBook::Take(uint32_t owner) {
  uint32_t i = Available();
  BlockTruth& block = world_.blocks[i];
  if (block.state == BlockState::kReturned) {
    if (world_.tick < block.unlinked_at + scenario_.grace) {
      Violate("a block is reused sooner than the grace period after it was unlinked");
    }
    ++block.generation;
    block.fresh = 0;
  }
  block.state = BlockState::kHand;
  block.owner = static_cast<uint8_t>(owner);
  return WordOf(i);
}

bool HeapBook::Names(SlotWord word, BlockState state, uint32_t owner) const {
  uint32_t i = IndexOf(word);
  if (i >= scenario_.blocks) return false;
  const BlockTruth& block = world_.blocks[i];
  return block.state == state && (block.owner == owner || owner == kNobody) &&
         word.size_class() == scenario_.block_class &&
         word.generation() == (block.generation & SlotWord::kGenerationMask);
}

void HeapBook::GiveBack(uint32_t owner, SlotWord word) {
  if (!Names(word, BlockState::kHand, owner)) {
    return Violate("an operation gives back a block that is not in its hand");
  }
  world_.blocks[IndexOf(word)].state = BlockState::kFree;
  world_.blocks[IndexOf(word)].owner = kNobody;
}

void HeapBook::Return(uint32_t owner, SlotWord word) {
  // A sweep was faster.
  const BlockTruth& block = world_.blocks[IndexOf(word)];
  const bool swept = block.state == BlockState::kReturned ||
                     word.generation() != (block.generation & SlotWord::kGenerationMask);
  if (scenario_.sweeps != 0 && swept) return;
  if (!Names(word, BlockState::kUnlinked, owner)) {
    return Violate("a block is returned that its returner has not unlinked, or for a second time");
  }
  BlockTruth& returned = world_.blocks[IndexOf(word)];
  returned.state = BlockState::kReturned;
  returned.owner = kNobody;
  returned.reuse_from = returned.unlinked_at + scenario_.grace;
}

void HeapBook::OnWrite(uint32_t owner, uint64_t address) {
  uint64_t block = (address - kHeapOffset) / BlockBytes(scenario_.block_class);
  if (address < kHeapOffset || block >= scenario_.blocks ||
      world_.blocks[block].state != BlockState::kHand || world_.blocks[block].owner != owner) {
    Violate("a record is written where no block of the writer is");
  }
}

void HeapBook::OnSwing(uint32_t owner, uint64_t slot_address, SlotWord from, SlotWord to) {
  if (from.frozen() && owner != kFreezer) return Violate("a frozen slot is changed");
  if (from.live()) {
    if (!Names(from, BlockState::kLinked, kNobody)) {
      return Violate("a slot named a block that was not linked there");
    }
    BlockTruth& block = world_.blocks[IndexOf(from)];
    block.state = BlockState::kUnlinked;
    block.owner = static_cast<uint8_t>(owner);
    block.unlinked_at = world_.tick;
  }
  if (!to.empty()) Link(owner, slot_address, to);
}

void HeapBook::Link(uint32_t owner, uint64_t slot_address, SlotWord word) {
  if (!Names(word, BlockState::kHand, owner)) {
    return Violate("a slot is made to name a block that is not in the hand of who did it");
  }
  world_.blocks[IndexOf(word)].state = BlockState::kLinked;
  world_.blocks[IndexOf(word)].owner = kNobody;
  const std::byte* record = RecordAt(word);
  RecordHeader header(PlainWord(record));
  if (header.generation() != word.generation() || !header.plausible()) {
    return Violate("a slot names a block whose record is not there yet");
  }
  uint64_t version = PlainWord(record + 8);
  uint64_t bit = uint64_t{1} << ((version - 1000) & 63);
  if (owner != kRelocator && (world_.linked_versions & bit) != 0) {
    return Violate("version " + std::to_string(version) + " is used twice");
  }
  world_.linked_versions |= bit;
  if (!IsPublished(world_.directory, slot_address)) {
    return Violate("a record is put where no directory leads");
  }
  ForEachSlot(world_, geometry_, [&](uint64_t other, SlotWord there) {
    if (other == slot_address || !there.live()) return;
    const std::byte* its = RecordAt(there);
    RecordHeader its_header(PlainWord(its));
    if (its_header.key_bytes() == header.key_bytes() &&
        std::memcmp(its + its_header.key_offset(), record + header.key_offset(),
                    header.key_bytes()) == 0) {
      Violate("a key is in two slots");
    }
  });
}

bool HeapBook::Suspicious(uint32_t i) const {
  const BlockTruth& block = world_.blocks[i];
  switch (block.state) {
    case BlockState::kFree:
    case BlockState::kReturned:
      return false;
    case BlockState::kHand:
      return block.owner == kRelocator ? Mutated(Mutation::kRelocateUnbatched)
                                       : Mutated(Mutation::kSweepUnresolved);
    case BlockState::kLinked:
    case BlockState::kUnlinked:
    case BlockState::kLost:
      return true;
  }
  return false;
}

void HeapBook::Sweep(uint32_t i, uint32_t generation) {
  BlockTruth& block = world_.blocks[i];
  if (block.state == BlockState::kFree || block.state == BlockState::kReturned) return;
  if (block.generation != generation && !Mutated(Mutation::kSweepAnyGeneration)) return;
  if (block.state == BlockState::kLinked || block.state == BlockState::kHand) {
    return Violate("a sweep frees a block that is in use");
  }
  block.state = BlockState::kReturned;
  block.owner = kNobody;
  block.reuse_from = world_.tick;
  if (!Mutated(Mutation::kSweepOnce)) block.reuse_from += scenario_.grace;
}

bool HeapBook::AnyLost() const {
  return std::any_of(world_.blocks, world_.blocks + scenario_.blocks,
                     [](const BlockTruth& b) { return b.state == BlockState::kLost; });
}

void HeapBook::Orphan(uint32_t owner) {
  for (BlockTruth& block : world_.blocks) {
    if (block.owner != owner) continue;
    if (block.state != BlockState::kHand && block.state != BlockState::kUnlinked) continue;
    block.state = BlockState::kLost;
    block.owner = kNobody;
  }
}

void HeapBook::CheckAtRest() {
  for (uint32_t i = 0; i < scenario_.blocks; ++i) {
    if (world_.blocks[i].state == BlockState::kHand) Violate("a block was never given back");
    if (world_.blocks[i].state == BlockState::kUnlinked) {
      Violate("an unlinked block was never returned");
    }
    if (scenario_.sweeps != 0 && world_.blocks[i].state == BlockState::kLost) {
      Violate("a block of the dead has not come back");
    }
  }
  uint32_t named = 0;
  ForEachSlot(world_, geometry_, [&](uint64_t, SlotWord word) {
    if (word.empty()) return;
    ++named;
    if (!word.live()) {
      Violate("a slot holds no word of this layout");
    } else if (word.frozen()) {
      Violate("a slot is left frozen");
    } else if (!Names(word, BlockState::kLinked, kNobody)) {
      Violate("a slot names a block that is not linked");
    }
  });
  for (uint32_t i = 0; i < scenario_.blocks; ++i) {
    named -= world_.blocks[i].state == BlockState::kLinked;
  }
  if (named != 0) Violate("a slot was lost, or is there twice");
}

}  // namespace dunlin::explorer
