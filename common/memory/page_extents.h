#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace dunlin {

// The free pages of a heap as extents: taken by best fit (lowest address among equals), merged when
// given back. O(log extents) a call. Not thread safe.
class PageExtents {
 public:
  // All of `pages` free.
  explicit PageExtents(uint32_t pages);

  // First page of `pages` free pages in a row, or nothing. REQUIRES: pages > 0.
  std::optional<uint32_t> Take(uint32_t pages);

  // REQUIRES: none of them is free.
  void Give(uint32_t first, uint32_t pages);

  uint64_t free_pages() const { return free_pages_; }
  // How many pieces of so many pages in a row there are. O(extents of that length or more).
  uint64_t Pieces(uint32_t pages) const;
  uint32_t largest() const { return by_length_.empty() ? 0 : by_length_.rbegin()->first; }
  size_t extents() const { return by_first_.size(); }

 private:
  void Insert(uint32_t first, uint32_t pages);

  std::map<uint32_t, uint32_t> by_first_;              // first page -> pages
  std::set<std::pair<uint32_t, uint32_t>> by_length_;  // (pages, first page)
  uint64_t free_pages_ = 0;
};

}  // namespace dunlin
