#include "common/memory/page_history.h"

#include <array>

#include "common/base/check.h"

namespace dunlin {
namespace {

constexpr uint32_t kCircle = 1024;

// The upper end of the shortest arc of the circle that holds all of them, and its width. The arc is
// what the longest gap between neighbours leaves.
struct Arc {
  uint16_t upper;
  uint32_t width;
};

Arc ShortestArc(std::span<const uint16_t> generations) {
  std::array<int32_t, kCircle> at;
  at.fill(-1);
  for (uint16_t g : generations) at[g % kCircle] = g;
  uint32_t first = generations[0] % kCircle;
  uint32_t before = first;
  uint32_t longest = 0;
  uint32_t upper = first;
  for (uint32_t step = 1; step <= kCircle; ++step) {
    uint32_t here = (first + step) % kCircle;
    if (at[here] < 0) continue;
    uint32_t gap = step - ((before + kCircle - first) % kCircle);
    if (gap > longest) {
      longest = gap;
      upper = before;
    }
    before = here;
  }
  return {static_cast<uint16_t>(at[upper]), kCircle - longest};
}

}  // namespace

NextBase RetirePage(std::span<const uint16_t> generations) {
  DUNLIN_CHECK(!generations.empty());
  Arc arc = ShortestArc(generations);
  return {arc.upper, arc.width > kMaxSpread};
}

}  // namespace dunlin
