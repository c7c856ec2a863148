#include "common/layout/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

namespace dunlin {

uint64_t HashKey(std::span<const std::byte> key, uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

uint64_t RecordChecksum(RecordHeader header, uint64_t version, uint64_t expiry,
                        std::span<const std::byte> key, std::span<const std::byte> value) {
  uint64_t seed = header.raw() ^ std::rotl(version, 21) * 0x9E3779B97F4A7C15u ^
                  std::rotl(expiry, 42) * 0xC2B2AE3D27D4EB4Fu;
  return XXH3_64bits_withSeed(value.data(), value.size(),
                              XXH3_64bits_withSeed(key.data(), key.size(), seed));
}

}  // namespace dunlin
