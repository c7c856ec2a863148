#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/remote.h"

namespace dunlin {

// Finds the memory key of a place in the region.
class KeyTable {
 public:
  KeyTable() = default;
  // REQUIRES: WhyNotValid(keys, the region's bytes) is empty.
  explicit KeyTable(std::vector<MemoryKey> keys) : keys_(std::move(keys)) {}

  // Empty if `keys` are in order and cover the region without gaps; else what is wrong.
  static std::string WhyNotValid(const std::vector<MemoryKey>& keys, uint64_t region_bytes);

  // REQUIRES: offset lies in the region.
  const MemoryKey& At(uint64_t offset) const {
    size_t i = 0;
    while (offset - keys_[i].offset >= keys_[i].bytes) ++i;
    return keys_[i];
  }

 private:
  std::vector<MemoryKey> keys_;
};

}  // namespace dunlin
