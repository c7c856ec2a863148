#pragma once

#include <cstddef>
#include <span>

#include "bench/kvbench/results.pb.h"

namespace dunlin::kvbench {

// How much of a run goes into a page.
struct PageLimits {
  size_t steps = 400;      // of a distribution
  size_t intervals = 300;  // of a time line
};

// For so many runs that all of them together stay within some megabytes.
PageLimits LimitsFor(std::span<const Results> runs);

// Thins what is too long. Steps of a distribution are joined with their neighbours: the counts add
// up. Intervals likewise: rates and medians are averages, p99 and the greatest value the greatest
// of those joined; a remark says so. Texts are cut, and properties, remarks and metrics beyond any
// that kvbench writes are dropped.
Results Condense(const Results& run, const PageLimits& limits);

}  // namespace dunlin::kvbench
