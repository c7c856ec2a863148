#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/fabric/chain.h"
#include "common/layout/word.h"

namespace dunlin::explorer {

// How a chain takes effect: one word after the other, in any order that common/fabric/fabric.h
// allows. The explorer takes every such order; tests/conformance takes random ones and holds them
// against the contract.

constexpr bool IsAtomic(Verb verb) { return verb == Verb::kCompareSwap || verb == Verb::kFetchAdd; }

constexpr uint32_t TouchedBytes(const Work& work) {
  return work.verb == Verb::kWrite ? work.length + work.tail_length : work.length;
}

// Which verbs may take effect now, as bits; `left(i)` says whether any of verb i is still to be
// done. WRITEs and atomics take effect in order, and nothing behind one of them before it. A READ
// in front holds nobody up.
template <typename Left>
uint32_t EnabledVerbs(const Chain& chain, const Left& left) {
  uint32_t enabled = 0;
  for (uint32_t i = 0; i < chain.count; ++i) {
    if (!left(i)) continue;
    enabled |= 1u << i;
    const Verb verb = chain.work[i].verb;
    if (IsAtomic(verb) || verb == Verb::kWrite) break;
  }
  return enabled;
}

// The part of a work that lies in one aligned word of the region: its bytes [begin, end).
struct Part {
  uint32_t begin;
  uint32_t end;
};
constexpr uint32_t PartsOf(const Work& work) {
  const uint64_t bytes = TouchedBytes(work);
  return bytes == 0 ? 0 : static_cast<uint32_t>((work.remote % kWordBytes + bytes + 7) / 8);
}
constexpr Part PartAt(const Work& work, uint32_t i) {
  const uint64_t before = work.remote % kWordBytes;
  const uint64_t begin = i == 0 ? 0 : i * kWordBytes - before;
  const uint64_t end = std::min<uint64_t>((i + 1) * kWordBytes - before, TouchedBytes(work));
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

// Where a kRead's bytes go.
inline std::byte* SinkOf(const Work& work, std::byte* scratch) {
  return work.sink != nullptr ? work.sink : scratch + work.local;
}

inline void ReadPart(const Work& work, Part part, std::byte* scratch, const std::byte* region) {
  std::memcpy(SinkOf(work, scratch) + part.begin, region + work.remote + part.begin,
              part.end - part.begin);
}

inline void WritePart(const Work& work, Part part, const std::byte* scratch, std::byte* region) {
  for (uint32_t at = part.begin; at < part.end; ++at) {
    region[work.remote + at] =
        at < work.length ? scratch[work.local + at] : work.tail[at - work.length];
  }
}

}  // namespace dunlin::explorer
