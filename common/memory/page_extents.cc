#include "common/memory/page_extents.h"

#include <iterator>

#include "common/base/check.h"

namespace dunlin {

PageExtents::PageExtents(uint32_t pages) {
  if (pages > 0) Insert(0, pages);
  free_pages_ = pages;
}

uint64_t PageExtents::Pieces(uint32_t pages) const {
  uint64_t pieces = 0;
  for (auto at = by_length_.lower_bound({pages, 0}); at != by_length_.end(); ++at) {
    pieces += at->first / pages;
  }
  return pieces;
}

void PageExtents::Insert(uint32_t first, uint32_t pages) {
  by_first_.emplace(first, pages);
  by_length_.emplace(pages, first);
}

std::optional<uint32_t> PageExtents::Take(uint32_t pages) {
  DUNLIN_CHECK_GT(pages, 0u);
  auto found = by_length_.lower_bound({pages, 0});
  if (found == by_length_.end()) return std::nullopt;
  auto [length, first] = *found;
  by_length_.erase(found);
  by_first_.erase(first);
  if (length > pages) Insert(first + pages, length - pages);
  free_pages_ -= pages;
  return first;
}

void PageExtents::Give(uint32_t first, uint32_t pages) {
  free_pages_ += pages;
  auto next = by_first_.lower_bound(first);
  if (next != by_first_.begin()) {
    auto before = std::prev(next);
    DUNLIN_CHECK_LE(before->first + before->second, first);
    if (before->first + before->second == first) {
      first = before->first;
      pages += before->second;
      by_length_.erase({before->second, before->first});
      by_first_.erase(before);
    }
  }
  if (next != by_first_.end()) {
    DUNLIN_CHECK_LE(first + pages, next->first);
    if (first + pages == next->first) {
      pages += next->second;
      by_length_.erase({next->second, next->first});
      by_first_.erase(next);
    }
  }
  Insert(first, pages);
}

}  // namespace dunlin
