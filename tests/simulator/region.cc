#include "tests/simulator/region.h"

#include "common/layout/bucket.h"
#include "common/layout/slot.h"
#include "tests/simulator/world.h"

namespace dunlin::simulator {

void Region::NoteSwap(const Work& work, int64_t now) {
  // Behind the first subtables others lie among the records, which nobody swaps words of.
  const bool slot = work.remote >= plan_.index_offset && work.remote % kBucketBytes != 0;
  const SlotWord old(work.compare);
  if (slot && old.live()) unlinked_[old.heap_offset()] = now;
}

void Region::NoteWrite(const Work& work, int64_t now) {
  if (work.remote < plan_.heap_offset) return;
  const auto found = unlinked_.find(work.remote - plan_.heap_offset);
  if (found == unlinked_.end()) return;
  const int64_t age = now - found->second;
  unlinked_.erase(found);
  if (age + slack_ >= plan_.grace_ms * kMillisecond || !fault_.empty()) return;
  fault_ = "the block at heap offset " + std::to_string(work.remote - plan_.heap_offset) +
           " is written " + std::to_string(age / kMicrosecond) +
           " us after its record was unlinked, within the grace period of " +
           std::to_string(plan_.grace_ms) + " ms";
}

}  // namespace dunlin::simulator
