#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/random.h"

namespace dunlin::kvbench {

// Bytes for values: a pool of random printable bytes in YCSB's distribution (RandomByteIterator:
// six from each random number), of which a value is a piece that begins at a random six. So a value
// costs nothing, whatever its length. One a thread.
class ValuePool {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr size_t kGroup = 6;

  // For values of up to `longest` bytes.
  ValuePool(size_t longest, Random& random);

  // REQUIRES: length <= longest. Holds as long as the pool.
  std::string_view Take(size_t length, Random& random) const {
    return std::string_view(bytes_).substr(random.Below(groups_) * kGroup, length);
  }

 private:
  uint64_t groups_;  // at which a value may begin
  std::string bytes_;
};

// The content of a field under dataintegrity=true, `length` bytes made of its key and name,
// replaces what is in `to` (YCSB's CoreWorkload.buildDeterministicValue).
void MakeDeterministicValue(std::string_view key, std::string_view field, size_t length,
                            std::string& to);

// "user" and the number's digits, padded with zeros; returns the end. Up to kKeySlack bytes behind
// it are overwritten.
inline constexpr uint32_t kKeySlack = 8;
char* WriteKey(int64_t number, uint32_t zero_padding, char* to);

}  // namespace dunlin::kvbench
