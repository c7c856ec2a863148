#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin::explorer {

uint64_t DigestOf(const void* data, size_t bytes);

inline uint64_t Mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ h >> 29;
}

}  // namespace dunlin::explorer
