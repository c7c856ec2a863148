#include "bench/upkeep/upkeep.h"

#include <cstring>
#include <fstream>

namespace dunlin::bench {
namespace {

// Run time and run-queue wait, in nanoseconds, are the first two numbers.
int64_t SecondNumber(const std::string& path) {
  std::ifstream file(path);
  int64_t ran = 0;
  int64_t waited = 0;
  return file >> ran >> waited ? waited : 0;
}

}  // namespace

void WriteKey(uint64_t n, char* key) {
  std::memcpy(key, "user", 4);
  for (int i = kKeyBytes - 1; i >= 4; --i, n /= 10) key[i] = static_cast<char>('0' + n % 10);
}

int64_t RunQueueNanos() { return SecondNumber("/proc/thread-self/schedstat"); }
int64_t RunQueueNanos(int pid) {
  return SecondNumber("/proc/" + std::to_string(pid) + "/schedstat");
}

}  // namespace dunlin::bench
