#pragma once

#include <cstdint>

#include "server/index/index_walk.h"

namespace dunlin {

// Counts what is in the index for somebody who waits for it. Not thread safe.
class CountWalk {
 public:
  struct Counts {
    uint64_t items = 0;
    uint64_t locks = 0;
  };

  CountWalk(const RegionView& region, const IndexSpace& index) : walk_(region, index) {}

  // Visits up to `buckets`; returns how many. `closed`: a subtable that is being split.
  uint32_t Step(uint32_t buckets, const IndexSpace::Subtable* closed) {
    return walk_.Step(buckets, closed, *this);
  }
  bool over() const { return walk_.over(); }
  bool In(const IndexSpace::Subtable& s) const { return walk_.In(s); }
  void StepBack() {
    walk_.StepBack();
    here_ = {};
  }
  const Counts& counts() const { return counts_; }

 private:
  friend class IndexWalk;
  void Ahead(SlotWord) const {}
  void Header(uint64_t, BucketHeader header) { here_.locks += header.held(); }
  void Slot(uint64_t, SlotWord word) { here_.items += word.live(); }
  void SubtableDone() {
    counts_.items += here_.items;
    counts_.locks += here_.locks;
    here_ = {};
  }

  IndexWalk walk_;
  Counts here_;  // of the subtable that it is in
  Counts counts_;
};

}  // namespace dunlin
