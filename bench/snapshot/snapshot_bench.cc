#include "bench/snapshot/snapshot_bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace dunlin::bench {

void WriteScatteredKey(uint64_t n, char* key) {
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
                 uint64_t cache_bytes) {
  Store store;
  store.server = StartServer(memory, std::move(options));
  store.client = ConnectTo(*store.server);
  store.session = OpenOn(*store.client, cache_bytes);
  return store;
}

void Fill(Session& session, uint64_t records, uint32_t value_bytes) {
  constexpr size_t kBatch = 64;
  std::vector<std::string> keys(kBatch, std::string(kKeyBytes, ' '));
  std::vector<std::string> values(kBatch, ValueOf(0, value_bytes));
  for (uint64_t n = 0; n < records;) {
    std::vector<PutRequest> requests(std::min<uint64_t>(kBatch, records - n));
    for (size_t i = 0; i < requests.size(); ++i, ++n) {
      WriteScatteredKey(n, keys[i].data());
      std::memcpy(values[i].data(), &n, sizeof n);
      requests[i].key = AsBytes(keys[i]);
      requests[i].value = AsBytes(values[i]);
    }
    session.MultiPut(requests);
    for (const PutRequest& request : requests) DUNLIN_CHECK(request.result.ok());
  }
}

double TimeOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace dunlin::bench
