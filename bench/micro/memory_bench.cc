#include "bench/micro/ratio.h"
#include "bench/micro/shm_store.h"
#include "common/base/check.h"

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
    state.counters["overhead_B"] = index + heap + books - (kKeyBytes + kShape.value_bytes);
    state.counters["bound"] = 40;
  }
}

BENCHMARK(BytesPerRecord)->Iterations(1);

}  // namespace
}  // namespace dunlin::bench
