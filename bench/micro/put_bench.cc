#include <cstring>

#include "bench/micro/ratio.h"
#include "bench/micro/shm_store.h"
#include "common/base/check.h"
#include "common/layout/word.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kTurn = 4096;
constexpr uint64_t kTurns = 128;
constexpr StoreShape kSmall{10'000'000, 64};

// The limit: a copy into a random record and a CAS, that changes nothing, on another random line.
void PutKnown(benchmark::State& state) {
  ShmStore& store = ShmStore::Get(kSmall);
  auto sequence = store.Sequence(kTurn * kTurns, kSmall.keys, 2);
  auto session = store.OpenSession(kSmall.keys * 256);
  std::string value(kSmall.value_bytes, 'w');
  auto put = [&](const ShmStore::Access& access) {
    DUNLIN_CHECK(session->PutBytes(AsBytes({access.key, kKeyBytes}), AsBytes(value)).ok());
  };
  for (const auto& access : sequence) put(access);
  // The limit writes where no record lives: into memory of its own, of the region's size.
  std::vector<std::byte> scratch(kSmall.keys * 128);
  uint64_t at = 0;
  Ratio ratio;
  for (auto _ : state) {
    for (uint64_t turn = 0; turn < kTurns; ++turn) {
      ratio.Turn(
          turn * kTurn, kTurn,
          [&](uint64_t first, uint64_t count) {
            for (uint64_t i = first; i < first + count; ++i) {
              at = (at + 2'654'435'761) % kSmall.keys;
              std::memcpy(&scratch[at * 128], value.data(), kSmall.value_bytes);
              benchmark::DoNotOptimize(scratch.data());
              benchmark::ClobberMemory();
              std::byte* slot = const_cast<std::byte*>(sequence[i].lines.slot);
              benchmark::DoNotOptimize(CompareSwapWord(slot, 1, 1));
            }
          },
          [&](uint64_t first, uint64_t count) {
            first = (first + kTurn * kTurns / 2) % (kTurn * kTurns);
            for (uint64_t i = first; i < first + count; ++i) put(sequence[i]);
          });
    }
  }
  ratio.Report(state, 2.0);
}

BENCHMARK(PutKnown)->Iterations(2)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace dunlin::bench
