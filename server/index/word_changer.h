#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/fabric/atomic_agent.h"
#include "common/layout/bucket.h"
#include "common/layout/slot.h"
#include "common/memory/allocator.h"

namespace dunlin {

// How the server changes single words of the index: through the region's atomic domain, like any
// client. Keeps the first error, after which words can't be changed any more. Not thread safe.
class WordChanger {
 public:
  // Both are borrowed.
  WordChanger(AtomicAgent* atomics, Allocator* allocator)
      : atomics_(*atomics), allocator_(*allocator) {}

  // Whether the word at `address` was `compare`, and is `swap` now.
  bool Swap(uint64_t address, uint64_t compare, uint64_t swap) {
    absl::StatusOr<uint64_t> found = atomics_.CompareSwap(address, compare, swap);
    if (!found.ok()) fault_.Update(found.status());
    return found.ok() && *found == compare;
  }

  // Empties a slot that holds `word`; the record's block goes back. Whether it did hold it.
  bool Unlink(uint64_t slot_address, SlotWord word, uint64_t tick) {
    if (!Swap(slot_address, word.raw(), SlotWord::Empty().raw())) return false;
    allocator_.Return(word, tick);
    return true;
  }

  // Releases the lock of a session that is no more: nobody else changes a held word. REQUIRES:
  // `held` was read there, and its owner is fenced.
  bool ReleaseDead(uint64_t header_address, BucketHeader held) {
    return Swap(header_address, held.raw(), held.Unheld().raw());
  }

  // A change that was made elsewhere failed.
  void Fail(const absl::Status& why) { fault_.Update(why); }
  const absl::Status& fault() const { return fault_; }

 private:
  AtomicAgent& atomics_;
  Allocator& allocator_;
  absl::Status fault_;
};

}  // namespace dunlin
