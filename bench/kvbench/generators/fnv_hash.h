#pragma once

#include <cstdint>
#include <limits>

namespace dunlin::kvbench {

// YCSB's Utils.fnvhash64: FNV-1a of the eight bytes, lowest first, and Java's Math.abs() of it,
// which leaves the least number negative.
constexpr int64_t FnvHash64(int64_t value) {
  constexpr uint64_t kPrime = 1099511628211;
  uint64_t rest = static_cast<uint64_t>(value);
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 4; ++i) {
    hash = (hash ^ (rest & 0xff)) * kPrime;
    rest >>= 8;
  }
  if (rest == 0) {
    // Four bytes of 0 multiply by the prime four times.
    hash *= kPrime * kPrime * kPrime * kPrime;
  } else {
    for (int i = 0; i < 4; ++i) {
      hash = (hash ^ (rest & 0xff)) * kPrime;
      rest >>= 8;
    }
  }
  const int64_t result = static_cast<int64_t>(hash);
  if (result == std::numeric_limits<int64_t>::min()) return result;
  return result < 0 ? -result : result;
}

}  // namespace dunlin::kvbench
