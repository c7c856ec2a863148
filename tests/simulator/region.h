#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/fabric/chain.h"
#include "common/layout/superblock.h"

namespace dunlin::simulator {

// A server's memory, and a watch over one rule of it: a block is written again no sooner than a
// grace period after the record in it was unlinked. Looks at what takes effect one-sidedly.
class Region {
 public:
  // `slack`: by how much the server's clock may run ahead, in nanoseconds.
  Region(const Superblock& plan, int64_t slack)
      : words_(plan.region_bytes / sizeof(uint64_t)), plan_(plan), slack_(slack) {}

  std::byte* base() { return reinterpret_cast<std::byte*>(words_.data()); }
  const std::byte* base() const { return reinterpret_cast<const std::byte*>(words_.data()); }

  // A compare-and-swap that took place, a write that begins.
  void NoteSwap(const Work& work, int64_t now);
  void NoteWrite(const Work& work, int64_t now);
  // Not empty: how the rule was broken first.
  const std::string& fault() const { return fault_; }

 private:
  std::vector<uint64_t> words_;
  const Superblock plan_;
  const int64_t slack_;
  std::unordered_map<uint64_t, int64_t> unlinked_;  // by heap offset
  std::string fault_;
};

}  // namespace dunlin::simulator
