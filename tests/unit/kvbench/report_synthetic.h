#pragma once

#include <string>
#include <vector>

#include "bench/kvbench/results.pb.h"

namespace dunlin::kvbench {

// Made-up results, the same for the same arguments: what a run of a store with such a median
// latency looks like.
struct SyntheticRun {
  std::string label = "store";
  std::string workload = "workloadc";
  double median_nanos = 10'000;
  int batch = 1;
  double target = 0;
  int seed = 1;
  int steps = 200;
  int intervals = 10;
};
Results Synthesize(const SyntheticRun& wanted);

// Several stores, workloads and repetitions, `count` in all.
std::vector<Results> SynthesizeMany(int count);

}  // namespace dunlin::kvbench
