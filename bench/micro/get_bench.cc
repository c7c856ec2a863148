#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "bench/micro/ratio.h"
#include "bench/micro/shm_store.h"
#include "common/base/check.h"
#include "common/layout/word.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kTurn = 4096;
constexpr uint64_t kTurns = 256;
constexpr uint64_t kBatch = 16;
constexpr uint64_t kValueByte = 'v';
// A session's cache has room for twice the keys.
constexpr uint64_t kCacheBytesPerKey = 16;
using Access = ShmStore::Access;

// Who knows where a key's record is.
enum class Known { kNobody, kSession, kApplication };

// What any store would have to do: look at the slot, copy the value. Returns 0, computed from the
// value, so that a caller can make the next operation wait for this one, as a thread that does one
// at a time.
uint64_t TouchKnown(const Access& access, uint32_t value_bytes, std::byte* out) {
  benchmark::DoNotOptimize(LoadWord(access.lines.slot));
  std::memcpy(out, access.lines.value, value_bytes);
  benchmark::ClobberMemory();
  return static_cast<uint64_t>(out[value_bytes - 1]) - kValueByte;
}

uint64_t TouchCold(const Access& access, uint32_t value_bytes, std::byte* out) {
  for (const std::byte* bucket : access.lines.bucket) {
    benchmark::DoNotOptimize(LoadWord(bucket));
    benchmark::DoNotOptimize(LoadWord(bucket + 64));
  }
  return TouchKnown(access, value_bytes, out);
}

// As TouchCold for one who learns the record's place from the slot.
uint64_t FollowCold(const ShmStore& store, const Access& access, uint32_t value_bytes,
                    std::byte* out) {
  for (const std::byte* bucket : access.lines.bucket) {
    benchmark::DoNotOptimize(LoadWord(bucket));
    benchmark::DoNotOptimize(LoadWord(bucket + 64));
  }
  std::memcpy(out, store.ValueAt(SlotWord(LoadWord(access.lines.slot))), value_bytes);
  benchmark::ClobberMemory();
  return static_cast<uint64_t>(out[value_bytes - 1]) - kValueByte;
}

// A table as large as the session's cache, of which a look-up reads the word that its key's hash
// points to. All are 0.
class CacheLines {
 public:
  explicit CacheLines(uint64_t bytes)
      : count_(bytes / sizeof(uint64_t)),
        words_(static_cast<uint64_t*>(std::aligned_alloc(kHugePage, RoundUp(bytes)))) {
    DUNLIN_CHECK(words_ != nullptr);
    DUNLIN_CHECK(madvise(words_.get(), RoundUp(bytes), MADV_HUGEPAGE) == 0);
    std::memset(words_.get(), 0, bytes);
  }
  uint64_t Look(const Access& access) const {
    const uint64_t hash = PlainWord(access.key + 8) * 0x9E3779B97F4A7C15;
    return LoadWord(&words_[(hash >> 32) * count_ >> 32]);
  }

 private:
  static constexpr uint64_t kHugePage = 2u << 20;
  static uint64_t RoundUp(uint64_t bytes) {
    return (bytes + kHugePage - 1) / kHugePage * kHugePage;
  }
  struct Free {
    void operator()(uint64_t* words) const { std::free(words); }
  };
  uint64_t count_;
  std::unique_ptr<uint64_t[], Free> words_;
};

struct Run {
  ShmStore& store;
  const Known known;
  std::vector<Access> sequence;
  std::vector<KnownKey> known_keys;
  std::unique_ptr<Session> session;
  std::vector<std::byte> out;

  Run(const StoreShape& shape, uint64_t set, Known who)
      : store(ShmStore::Get(shape)),
        known(who),
        sequence(store.Sequence(kTurn * kTurns, set, 1)),
        session(store.OpenSession(known == Known::kSession ? set * kCacheBytesPerKey : 0)),
        out(kBatch * shape.value_bytes) {
    if (known == Known::kNobody) return;
    if (known == Known::kApplication) {
      for (const Access& access : sequence) known_keys.emplace_back(KeyOf(access));
    }
    for (uint64_t i = 0; i < sequence.size(); ++i) Get(i);
  }
  static Bytes KeyOf(const Access& access) { return AsBytes({access.key, kKeyBytes}); }
  uint64_t Get(uint64_t i) {
    GetResult got = known == Known::kApplication ? session->GetKnown(known_keys[i], out)
                                                 : session->GetInto(KeyOf(sequence[i]), out);
    DUNLIN_CHECK(got.ok());
    return static_cast<uint64_t>(out[got.value_bytes - 1]) - kValueByte;
  }
};

void MeasureFloor(const Run& run, const StoreShape& shape, uint64_t set, std::byte* out,
                  Ratio* ratio) {
  const CacheLines cache(set * kCacheBytesPerKey);
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    ratio->FloorTurn(turn * kTurn, kTurn, [&](uint64_t first, uint64_t count) {
      uint64_t zero = 0;
      for (uint64_t i = first; i < first + count; ++i) {
        const Access& access = run.sequence[i + zero];
        zero = run.known == Known::kNobody
                   ? FollowCold(run.store, access, shape.value_bytes, out)
                   : TouchKnown((&access)[cache.Look(access)], shape.value_bytes, out);
      }
    });
  }
}

void GetOneByOne(benchmark::State& state, const StoreShape& shape, uint64_t set, Known known,
                 double bound) {
  Run run(shape, set, known);
  Ratio ratio;
  for (auto _ : state) {
    for (uint64_t turn = 0; turn < kTurns; ++turn) {
      ratio.Turn(
          turn * kTurn, kTurn,
          [&](uint64_t first, uint64_t count) {
            uint64_t zero = 0;
            auto touch = known == Known::kNobody ? TouchCold : TouchKnown;
            for (uint64_t i = first; i < first + count; ++i) {
              zero = touch(run.sequence[i + zero], shape.value_bytes, run.out.data());
            }
          },
          [&](uint64_t first, uint64_t count) {
            first = (first + kTurn * kTurns / 2) % (kTurn * kTurns);
            uint64_t zero = 0;
            for (uint64_t i = first; i < first + count; ++i) zero = run.Get(i + zero);
          });
    }
    if (known != Known::kApplication) MeasureFloor(run, shape, set, run.out.data(), &ratio);
  }
  ratio.Report(state, bound);
  state.counters["huge_pages"] = run.store.huge_pages();
}

void MultiGetOf16(benchmark::State& state, const StoreShape& shape, uint64_t set, Known known,
                  double bound) {
  Run run(shape, set, known);
  Ratio ratio;
  std::vector<GetRequest> requests(kBatch);
  for (uint64_t i = 0; i < kBatch; ++i) {
    requests[i].buffer = std::span(run.out).subspan(i * shape.value_bytes, shape.value_bytes);
  }
  for (auto _ : state) {
    for (uint64_t turn = 0; turn < kTurns; ++turn) {
      ratio.Turn(
          turn * kTurn, kTurn,
          [&](uint64_t first, uint64_t count) {
            for (uint64_t i = first; i < first + count; i += kBatch) {
              for (uint64_t k = i; k < i + kBatch; ++k) {
                __builtin_prefetch(run.sequence[k].lines.slot);
                for (uint32_t b = 0; b < shape.value_bytes; b += 64) {
                  __builtin_prefetch(run.sequence[k].lines.value + b);
                }
                __builtin_prefetch(run.sequence[k].lines.value + shape.value_bytes - 1);
              }
              for (uint64_t k = i; k < i + kBatch; ++k) {
                TouchKnown(run.sequence[k], shape.value_bytes,
                           run.out.data() + (k - i) * shape.value_bytes);
              }
            }
          },
          [&](uint64_t first, uint64_t count) {
            first = (first + kTurn * kTurns / 2) % (kTurn * kTurns);
            for (uint64_t i = first; i < first + count; i += kBatch) {
              for (uint64_t k = 0; k < kBatch; ++k) {
                if (known == Known::kApplication) {
                  requests[k].known = &run.known_keys[i + k];
                } else {
                  requests[k].key = Run::KeyOf(run.sequence[i + k]);
                }
              }
              run.session->MultiGet(requests);
              for (const GetRequest& r : requests) DUNLIN_CHECK(r.result.ok());
            }
          });
    }
  }
  ratio.Report(state, bound);
  state.counters["huge_pages"] = run.store.huge_pages();
}

constexpr StoreShape kSmall{10'000'000, 64};
constexpr StoreShape kLarge{1'000'000, 1024};
constexpr uint64_t kHot = 100'000;

BENCHMARK_CAPTURE(GetOneByOne, known_64B, kSmall, kSmall.keys, Known::kSession, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(GetOneByOne, known_hot_64B, kSmall, kHot, Known::kSession, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(MultiGetOf16, known_64B, kSmall, kSmall.keys, Known::kSession, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(MultiGetOf16, known_hot_64B, kSmall, kHot, Known::kSession, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(GetOneByOne, known_key_64B, kSmall, kSmall.keys, Known::kApplication, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(GetOneByOne, known_key_hot_64B, kSmall, kHot, Known::kApplication, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(MultiGetOf16, known_key_64B, kSmall, kSmall.keys, Known::kApplication, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(MultiGetOf16, known_key_hot_64B, kSmall, kHot, Known::kApplication, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(GetOneByOne, cold_64B, kSmall, kSmall.keys, Known::kNobody, 1.5)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(GetOneByOne, known_1KiB, kLarge, kLarge.keys, Known::kSession, 1.3)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(GetOneByOne, known_key_1KiB, kLarge, kLarge.keys, Known::kApplication, 1.3)
    ->Iterations(2)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace dunlin::bench
