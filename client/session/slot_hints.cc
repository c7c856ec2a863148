#include "client/session/slot_hints.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dunlin {
namespace {

constexpr size_t kHugePage = 2u << 20;
constexpr size_t kSmallPage = 4096;
constexpr uint64_t kMostLines = uint64_t{1} << 32;

}  // namespace

SlotHints::SlotHints(uint64_t bytes) {
  const uint64_t count = std::min(bytes / sizeof(Line), kMostLines);
  if (count == 0) return;
  const size_t alignment = count * sizeof(Line) >= kHugePage ? kHugePage : kSmallPage;
  const size_t size = (count * sizeof(Line) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, size);
  // Without memory for them every operation is cold, none is wrong.
  if (memory == nullptr) return;
  // A wish: with small pages most look-ups cost a TLB miss more.
  if (alignment == kHugePage) (void)madvise(memory, size, MADV_HUGEPAGE);
  lines_.reset(static_cast<Line*>(memory));
  count_ = count;
  Clear();
}

void SlotHints::Free::operator()(Line* lines) const { std::free(lines); }

SlotHint& SlotHints::PlaceFor(uint64_t hash) const {
  if (SlotHint* const own = Find(hash)) return *own;
  SlotHint* const hints = LineOf(hash)->hints;
  const uint32_t home = HomeOf(hash);
  for (uint32_t n = home; n < home + kWays; ++n) {
    if (!hints[n % kWays].known()) return hints[n % kWays];
  }
  return hints[home];
}

void SlotHints::Remember(uint64_t hash, const Placement& place, const Geometry& geometry,
                         uint64_t slot_address, SlotWord word) {
  if (lines_ == nullptr) return;
  for (uint32_t bucket = 0; bucket < 2; ++bucket) {
    const uint64_t slot =
        (slot_address - geometry.SlotAddress(place.bucket[bucket], 0)) / kWordBytes;
    if (slot >= geometry.slots_per_bucket) continue;
    PlaceFor(hash) = SlotHint(TagOf(hash), bucket, static_cast<uint32_t>(slot), word);
    return;
  }
  // Found through another directory.
  Forget(hash);
}

void SlotHints::Forget(uint64_t hash) {
  if (SlotHint* const hint = Find(hash)) *hint = {};
}

void SlotHints::Clear() {
  if (lines_ != nullptr) std::memset(static_cast<void*>(lines_.get()), 0, count_ * sizeof(Line));
}

}  // namespace dunlin
