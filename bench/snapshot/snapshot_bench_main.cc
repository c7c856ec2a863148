// snapshot_bench FOLDER [whole|readers]...: FOLDER is on the disk that the figures are to be of.

#include <cstdio>
#include <cstring>
#include <string>

#include "bench/snapshot/snapshot_bench.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: snapshot_bench FOLDER [small|large|readers]...\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const auto wanted = [&](const char* part) {
    bool found = argc == 2;
    for (int i = 2; i < argc; ++i) found |= std::strcmp(argv[i], part) == 0;
    return found;
  };
  if (wanted("large")) dunlin::bench::MeasureWhole(folder, "1m_1kib", 1'000'000, 1024, "1800MiB");
  if (wanted("small")) dunlin::bench::MeasureWhole(folder, "10m_64b", 10'000'000, 64, "2GiB");
  if (wanted("readers")) dunlin::bench::MeasureReaders(folder);
  return 0;
}
