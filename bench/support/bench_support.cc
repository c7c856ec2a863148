#include "bench/support/bench_support.h"

#include <cstdio>
#include <utility>

#include "common/base/check.h"

namespace dunlin::bench {

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

void PrintRatio(const std::string& name, double measured, double bound,
                const std::string& details) {
  std::printf("ratio %s %.3f %g %s\n", name.c_str(), measured, bound, details.c_str());
  std::fflush(stdout);
}

}  // namespace dunlin::bench
