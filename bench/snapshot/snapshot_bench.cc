#include "bench/snapshot/snapshot_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace dunlin::bench {

void WriteKey(uint64_t n, char* key) {
  static const char kDigits[] = "0123456789abcdef";
  uint64_t mixed = (n + 1) * 0x9E3779B97F4A7C15u;
  for (uint32_t i = 0; i < kKeyBytes; ++i, mixed >>= 4) key[i] = kDigits[mixed & 15];
}

std::string ValueOf(uint64_t n, uint32_t bytes) {
  std::string value(bytes, 'v');
  std::memcpy(value.data(), &n, std::min<size_t>(sizeof n, bytes));
  return value;
}

Store StartStore(const std::string& memory, std::vector<std::string> options,
                 uint64_t location_cache) {
  testing::ServerProcess::Options start;
  start.binary = DUNLIN_SERVER_BINARY;
  start.memory = memory;
  start.more = std::move(options);
  Store store;
  auto server = testing::ServerProcess::Start(start);
  DUNLIN_CHECK_OK(server);
  store.server = *std::move(server);
  auto client = Client::Connect(store.server->target());
  DUNLIN_CHECK_OK(client);
  store.client = *std::move(client);
  SessionOptions session_options;
  if (location_cache != 0) session_options.location_cache_bytes = location_cache;
  auto session = store.client->OpenSession(session_options);
  DUNLIN_CHECK_OK(session);
  store.session = *std::move(session);
  return store;
}

void Fill(Session& session, uint64_t records, uint32_t value_bytes) {
  constexpr size_t kBatch = 64;
  std::vector<std::string> keys(kBatch, std::string(kKeyBytes, ' '));
  std::vector<std::string> values(kBatch, ValueOf(0, value_bytes));
  for (uint64_t n = 0; n < records;) {
    std::vector<PutRequest> requests(std::min<uint64_t>(kBatch, records - n));
    for (size_t i = 0; i < requests.size(); ++i, ++n) {
      WriteKey(n, keys[i].data());
      std::memcpy(values[i].data(), &n, sizeof n);
      requests[i].key = AsBytes(keys[i]);
      requests[i].value = AsBytes(values[i]);
    }
    session.MultiPut(requests);
    for (const PutRequest& request : requests) DUNLIN_CHECK(request.result.ok());
  }
}

void PrintRatio(const std::string& name, double measured, double bound,
                const std::string& details) {
  std::printf("ratio %s %.3f %g %s\n", name.c_str(), measured, bound, details.c_str());
  std::fflush(stdout);
}

double TimeOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace dunlin::bench
