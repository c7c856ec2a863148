#pragma once

#include <cstdint>
#include <vector>

namespace dunlin::explorer {

// The states seen, by digest, each with the number of ways from it to an end. Open addressing.
class StateTable {
 public:
  static constexpr double kNew = -2;     // just added
  static constexpr double kOnPath = -1;  // its ways are not all counted yet

  StateTable() : entries_(1 << 12) {}

  // What is kept for `digest`; kNew if it was not there. Valid until the next call.
  double& At(uint64_t digest) {
    if (digest == 0) digest = 1;
    if (count_ * 2 > entries_.size()) Grow();
    Entry& entry = Find(digest);
    if (entry.digest == 0) {
      entry = {digest, kNew};
      ++count_;
    }
    return entry.paths;
  }

 private:
  struct Entry {
    uint64_t digest = 0;
    double paths = 0;
  };

  Entry& Find(uint64_t digest) {
    size_t mask = entries_.size() - 1;
    size_t i = digest & mask;
    while (entries_[i].digest != 0 && entries_[i].digest != digest) i = (i + 1) & mask;
    return entries_[i];
  }

  void Grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.digest != 0) Find(entry.digest) = entry;
    }
  }

  std::vector<Entry> entries_;
  size_t count_ = 0;
};

}  // namespace dunlin::explorer
