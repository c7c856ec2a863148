#pragma once

#include <cstdint>
#include <string>

#include "common/layout/geometry.h"
#include "tests/explorer/index_view.h"
#include "tests/explorer/scenario.h"
#include "tests/explorer/world.h"

namespace dunlin::explorer {

// Keeps the truth about the heap's blocks, and notes the first rule that is broken.
class HeapBook {
 public:
  HeapBook(const Scenario& scenario, const Geometry& geometry, World& world, std::string& violation)
      : scenario_(scenario), geometry_(geometry), world_(world), violation_(violation) {}

  // The block that a put would get now; kMaxBlocks if there is none. One that can be reused comes
  // first: reuse as early as the rules permit.
  uint32_t Available() const;
  bool ReuseAvailable() const;
  SlotWord Take(uint32_t owner);
  // Not linked by its owner.
  void GiveBack(uint32_t owner, SlotWord word);
  // `owner` returns what it unlinked.
  void Return(uint32_t owner, SlotWord word);
  // A slot at `slot_address` went from one word to another by a CAS of `owner`.
  void OnSwing(uint32_t owner, uint64_t slot_address, SlotWord from, SlotWord to);
  void OnWrite(uint32_t owner, uint64_t address);
  // What a sweep may suspect when it begins: what is allocated and in no unresolved batch.
  bool Suspicious(uint32_t block) const;
  // A sweep frees the block, if it is still allocated and of that generation. False: it was not.
  void Sweep(uint32_t block, uint32_t generation);
  bool AnyLost() const;
  // The blocks of a session that is no more.
  void Orphan(uint32_t owner);
  void CheckAtRest();

  uint32_t IndexOf(SlotWord word) const {
    return static_cast<uint32_t>(word.heap_offset() / BlockBytes(scenario_.block_class));
  }
  SlotWord WordOf(uint32_t block) const {
    return SlotWord::Make(uint64_t{block} * BlockBytes(scenario_.block_class),
                          scenario_.block_class, 0, world_.blocks[block].generation);
  }
  const std::byte* RecordAt(SlotWord word) const {
    return world_.region + geometry_.RecordAddress(word);
  }

 private:
  bool Names(SlotWord word, BlockState state, uint32_t owner) const;
  bool Reusable(uint32_t block) const;
  void Link(uint32_t owner, uint64_t slot_address, SlotWord word);
  void Violate(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  const Scenario& scenario_;
  const Geometry& geometry_;
  World& world_;
  std::string& violation_;
};

}  // namespace dunlin::explorer
