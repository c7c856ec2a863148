#pragma once

#include <array>
#include <cstdint>

#include "common/base/check.h"

namespace dunlin {

// Spreads any 64-bit state, also consecutive integers, over all 64 bits (Steele, Lea, Flood 2014).
constexpr uint64_t SplitMix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// xoshiro256** (Blackman, Vigna 2018). Reproducible from its seed on every platform; not for
// secrets. Meets UniformRandomBitGenerator. Not thread safe: one a thread.
class Random {
 public:
  using result_type = uint64_t;

  explicit constexpr Random(uint64_t seed) {
    for (uint64_t& word : state_) word = SplitMix64(seed);
  }

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

  constexpr uint64_t operator()() { return Next(); }

  constexpr uint64_t Next() {
    const uint64_t result = Rotate(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound), without bias. REQUIRES: bound > 0.
  constexpr uint64_t Below(uint64_t bound) {
    DUNLIN_DCHECK(bound > 0);
    __extension__ using Wide = unsigned __int128;
    Wide product = Wide{Next()} * bound;
    if (static_cast<uint64_t>(product) < bound) {
      // Lemire 2019: the lowest 2^64 mod bound products are over-represented, draw again.
      const uint64_t threshold = -bound % bound;
      while (static_cast<uint64_t>(product) < threshold) product = Wide{Next()} * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform in [low, high]. REQUIRES: low <= high, and not the whole range of uint64_t.
  constexpr uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }

  // Uniform in [0, 1).
  constexpr double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // True once in `n` on average. REQUIRES: n > 0.
  constexpr bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  static constexpr uint64_t Rotate(uint64_t value, int bits) {
    return (value << bits) | (value >> (64 - bits));
  }

  std::array<uint64_t, 4> state_{};
};

}  // namespace dunlin
