#pragma once

#include <cstdint>

#include "common/layout/superblock.h"
#include "common/layout/word.h"

namespace dunlin {

// What sessions tell a server in cache mode about the records that they use. Each session word has
// a ring of strips in the access area, 1 to kMostStrips. Its session overwrites the next strip
// whole, with one WRITE for 64 uses at most: the number of that WRITE, then the slot words of 63 of
// the records used. The server looks when it likes; what it misses is lost, and torn strips do no
// harm: a word is believed only as far as it names a record in use.
inline constexpr uint32_t kUsesPerStrip = 64;
inline constexpr uint32_t kStripBytes = kUsesPerStrip * kWordBytes;
inline constexpr uint32_t kMostStrips = 8;

struct AccessStrip {
  uint64_t number;  // 1, 2, ...; 0: nothing yet
  uint64_t words[kUsesPerStrip - 1];
};
static_assert(sizeof(AccessStrip) == kStripBytes);

// The access area, as the superblock tells it.
struct AccessArea {
  uint64_t offset = 0;  // in the region; 0: there is none
  uint32_t strips = 0;  // of each session word

  static constexpr AccessArea Of(const Superblock& s) {
    return {s.access_offset, static_cast<uint32_t>(s.access_strips)};
  }
  constexpr uint64_t Bytes(uint32_t session_words) const {
    return uint64_t{session_words} * strips * kStripBytes;
  }

  // Where the strip of that number goes.
  constexpr uint64_t Address(uint32_t session_word, uint64_t number) const {
    return offset + (uint64_t{session_word} * strips + number % strips) * kStripBytes;
  }
};

}  // namespace dunlin
