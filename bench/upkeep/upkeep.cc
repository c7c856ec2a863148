#include "bench/upkeep/upkeep.h"

#include <cstdio>
#include <cstring>
#include <fstream>

#include "common/base/check.h"

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

std::unique_ptr<testing::ServerProcess> StartServer(const std::string& memory,
                                                    std::vector<std::string> more) {
  testing::ServerProcess::Options options;
  options.binary = DUNLIN_SERVER_BINARY;
  options.memory = memory;
  options.more = std::move(more);
  auto server = testing::ServerProcess::Start(options);
  DUNLIN_CHECK_OK(server);
  return std::move(*server);
}

std::unique_ptr<Client> ConnectTo(const testing::ServerProcess& server) {
  auto client = Client::Connect(server.target());
  DUNLIN_CHECK_OK(client);
  return std::move(*client);
}

std::unique_ptr<Session> OpenOn(Client& client, uint64_t cache_bytes) {
  SessionOptions options;
  options.location_cache_bytes = cache_bytes;
  auto session = client.OpenSession(options);
  DUNLIN_CHECK_OK(session);
  return std::move(*session);
}

void WriteKey(uint64_t n, char* key) {
  std::memcpy(key, "user", 4);
  for (int i = kKeyBytes - 1; i >= 4; --i, n /= 10) key[i] = static_cast<char>('0' + n % 10);
}

void PrintRatio(const std::string& name, double measured, double bound,
                const std::string& details) {
  std::printf("ratio %s %.3f %g %s\n", name.c_str(), measured, bound, details.c_str());
  std::fflush(stdout);
}

int64_t RunQueueNanos() { return SecondNumber("/proc/thread-self/schedstat"); }
int64_t RunQueueNanos(int pid) {
  return SecondNumber("/proc/" + std::to_string(pid) + "/schedstat");
}

}  // namespace dunlin::bench
