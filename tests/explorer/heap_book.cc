#include "tests/explorer/heap_book.h"

#include <cstring>

#include "common/layout/record.h"
#include "common/layout/word.h"

namespace dunlin::explorer {

bool HeapBook::Reusable(uint32_t i) const {
  const BlockTruth& block = world_.blocks[i];
  return scenario_.reuse && (scenario_.reused_blocks >> i & 1) != 0 &&
         block.state == BlockState::kReturned && world_.tick >= block.unlinked_at + scenario_.grace;
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
  if (!Names(word, BlockState::kUnlinked, owner)) {
    return Violate("a block is returned that its returner has not unlinked, or for a second time");
  }
  world_.blocks[IndexOf(word)].state = BlockState::kReturned;
  world_.blocks[IndexOf(word)].owner = kNobody;
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
  for (uint32_t b = 0; b < kBuckets; ++b) {
    for (uint32_t s = 0; s < scenario_.slots; ++s) {
      uint64_t other = geometry_.SlotAddress(uint64_t{b} * geometry_.bucket_bytes, s);
      SlotWord there(PlainWord(world_.region + other));
      if (other == slot_address || !there.live()) continue;
      const std::byte* its = RecordAt(there);
      RecordHeader its_header(PlainWord(its));
      if (its_header.key_bytes() == header.key_bytes() &&
          std::memcmp(its + its_header.key_offset(), record + header.key_offset(),
                      header.key_bytes()) == 0) {
        Violate("a key is in two slots");
      }
    }
  }
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
  }
  for (uint32_t b = 0; b < kBuckets; ++b) {
    for (uint32_t s = 0; s < scenario_.slots; ++s) {
      uint64_t address = geometry_.SlotAddress(uint64_t{b} * geometry_.bucket_bytes, s);
      SlotWord word(PlainWord(world_.region + address));
      if (word.empty()) continue;
      if (!word.live()) {
        Violate("a slot holds no word of this layout");
      } else if (!Names(word, BlockState::kLinked, kNobody)) {
        Violate("a slot names a block that is not linked");
      }
    }
  }
}

}  // namespace dunlin::explorer
