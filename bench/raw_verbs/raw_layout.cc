#include "bench/raw_verbs/raw_layout.h"

#include <cstring>

#include "common/base/random.h"

namespace dunlin::bench {

void FillReadArea(std::span<std::byte> area) {
  uint64_t state = kRawMagic;
  for (size_t at = 0; at + sizeof(uint64_t) <= area.size(); at += sizeof(uint64_t)) {
    const uint64_t word = SplitMix64(state);
    std::memcpy(area.data() + at, &word, sizeof(word));
  }
}

}  // namespace dunlin::bench
