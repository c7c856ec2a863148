#include <cstring>
#include <string_view>
#include <unordered_map>

#include "bench/micro/ratio.h"
#include "bench/micro/shm_store.h"
#include "common/base/check.h"
#include "common/layout/word.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kTurn = 4096;
constexpr uint64_t kTurns = 128;
constexpr StoreShape kSmall{10'000'000, 64};

// The keys of a sequence as an application that keeps KnownKeys has them: one for each key, however
// often it comes.
struct KnownKeys {
  std::vector<KnownKey> keys;
  std::vector<uint32_t> of;  // by place in the sequence

  explicit KnownKeys(const std::vector<ShmStore::Access>& sequence) {
    std::unordered_map<std::string_view, uint32_t> seen;
    for (const auto& access : sequence) {
      const std::string_view key(access.key, kKeyBytes);
      const auto [at, fresh] = seen.emplace(key, static_cast<uint32_t>(keys.size()));
      if (fresh) keys.emplace_back(AsBytes(key));
      of.push_back(at->second);
    }
  }
};

// The limit: a copy into a random record and a CAS, that changes nothing, on another random line.
void Put(benchmark::State& state, bool application_knows) {
  ShmStore& store = ShmStore::Get(kSmall);
  auto sequence = store.Sequence(kTurn * kTurns, kSmall.keys, 2);
  auto session = store.OpenSession(application_knows ? 1u << 20 : kSmall.keys * 16);
  std::string value(kSmall.value_bytes, 'w');
  KnownKeys known(sequence);
  auto put = [&](uint64_t i) {
    const WriteResult done =
        application_knows
            ? session->PutKnown(known.keys[known.of[i]], AsBytes(value))
            : session->PutBytes(AsBytes({sequence[i].key, kKeyBytes}), AsBytes(value));
    DUNLIN_CHECK(done.ok());
  };
  for (uint64_t i = 0; i < sequence.size(); ++i) put(i);
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
            for (uint64_t i = first; i < first + count; ++i) put(i);
          });
    }
  }
  ratio.Report(state, 2.0);
  state.counters["huge_pages"] = store.huge_pages();
}

BENCHMARK_CAPTURE(Put, known_64B, false)->Iterations(2)->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(Put, known_key_64B, true)->Iterations(2)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace dunlin::bench
