#include <benchmark/benchmark.h>

#include <cmath>

#include "bench/micro/shm_store.h"
#include "common/base/check.h"
#include "common/layout/record.h"

namespace dunlin::bench {
namespace {

// Bytes of memory for each record beyond its key and value: the index at the load it has, the
// blocks in use, and the server's own books for the heap.
void BytesPerRecord(benchmark::State& state) {
  constexpr StoreShape kShape{10'000'000, 64};
  ShmStore& store = ShmStore::Get(kShape);
  for (auto _ : state) {
    auto status = store.client().Status(true);
    DUNLIN_CHECK_OK(status);
    double items = static_cast<double>(status->items);
    double load = items / static_cast<double>(status->index_slots);
    // At the load that the target names, whatever the load of this very store is.
    double index =
        static_cast<double>(status->index_bytes) / static_cast<double>(status->index_slots) / 0.8;
    double heap = static_cast<double>(status->heap_used_bytes) / items;
    double books = static_cast<double>(status->allocator_bytes) / items;
    state.counters["load"] = load;
    state.counters["index_B"] = index;
    state.counters["heap_B"] = heap;
    state.counters["books_B"] = books;
    state.counters["ratio"] = index + heap + books - (kKeyBytes + kShape.value_bytes);
    state.counters["bound"] = 40;
  }
}

// What is lost in blocks that are larger than their records, on values of sizes spread evenly over
// the powers of two from 16 B to 64 KiB. As a part of the blocks.
void WasteOnAMixOfSizes(benchmark::State& state) {
  testing::ServerProcess::Options options;
  options.binary = DUNLIN_SERVER_BINARY;
  options.memory = "1GiB";
  options.more = {"--records", "100000"};
  auto server = testing::ServerProcess::Start(options);
  DUNLIN_CHECK_OK(server);
  auto client = Client::Connect((*server)->target());
  DUNLIN_CHECK_OK(client);
  for (auto _ : state) {
    auto before = (*client)->Status();
    DUNLIN_CHECK_OK(before);
    uint64_t bytes = 0;
    {
      auto session = (*client)->OpenSession();
      DUNLIN_CHECK_OK(session);
      Random random(5);
      std::string value;
      char key[kKeyBytes];
      for (uint64_t n = 0; n < 50'000; ++n) {
        double exponent = 4 + 12 * (static_cast<double>(random() % 1'000'000) / 1e6);
        value.resize(static_cast<size_t>(std::exp2(exponent)));
        WriteKey(n, key);
        DUNLIN_CHECK((*session)->PutBytes(AsBytes({key, kKeyBytes}), AsBytes(value)).ok());
        bytes += RecordBytes(kKeyBytes, value.size(), false);
      }
    }
    // The session has ended, so that no blocks are in anybody's hands; what it gave back unused
    // waits for the grace period and is not counted as used.
    auto after = (*client)->Status();
    DUNLIN_CHECK_OK(after);
    double used = static_cast<double>(after->heap_used_bytes - before->heap_used_bytes);
    state.counters["ratio"] = 100 * (used - static_cast<double>(bytes)) / used;
    state.counters["bound"] = 12.5;
  }
}

BENCHMARK(BytesPerRecord)->Iterations(1);
BENCHMARK(WasteOnAMixOfSizes)->Iterations(1);

}  // namespace
}  // namespace dunlin::bench
