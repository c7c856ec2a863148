#include <cstdio>
#include <cstring>

#include "bench/upkeep/upkeep.h"

int main(int argc, char** argv) {
  struct Part {
    const char* name;
    void (*measure)();
  };
  constexpr Part kParts[] = {{"hot_key", dunlin::bench::MeasureHotKey},
                             {"patrol", dunlin::bench::MeasurePatrol},
                             {"eviction", dunlin::bench::MeasureEviction},
                             {"mixed_sizes", dunlin::bench::MeasureMixedSizes},
                             {"growth", dunlin::bench::MeasureGrowth}};
  bool known = argc == 1;
  for (const Part& part : kParts) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted |= std::strcmp(argv[i], part.name) == 0;
    if (wanted) part.measure();
    known |= wanted;
  }
  if (!known) std::fputs("usage: upkeep [hot_key|patrol|eviction|mixed_sizes|growth]...\n", stderr);
  return known ? 0 : 2;
}
