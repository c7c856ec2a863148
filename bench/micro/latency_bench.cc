#include <benchmark/benchmark.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/micro/shm_store.h"
#include "common/base/check.h"
#include "common/base/histogram.h"
#include "common/layout/word.h"

namespace dunlin::bench {
namespace {

constexpr StoreShape kSmall{10'000'000, 64};
constexpr uint64_t kReads = 1u << 20;

int64_t Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

template <typename Body>
void Timed(Histogram& histogram, Body&& body) {
  int64_t begin = Now();
  body();
  histogram.Record(static_cast<uint64_t>(Now() - begin));
}

// A thread that puts random keys without pause until it is destroyed.
class Writer {
 public:
  explicit Writer(ShmStore& store)
      : sequence_(store.Sequence(1u << 18, kSmall.keys, 3)),
        session_(store.OpenSession(64u << 20)),
        thread_([this] { Run(); }) {}
  ~Writer() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Run() {
    std::string value(kSmall.value_bytes, 'v');
    for (uint64_t i = 0; !stop_; i = (i + 1) % sequence_.size()) {
      DUNLIN_CHECK(session_->PutBytes(AsBytes({sequence_[i].key, kKeyBytes}), AsBytes(value)).ok());
    }
  }

  std::vector<ShmStore::Access> sequence_;
  std::unique_ptr<Session> session_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Of a single get while another client writes, beside the same of bare code touching slot and
// record lines in the same minutes. Both are timed one by one, in turns.
void TailUnderWrites(benchmark::State& state) {
  ShmStore& store = ShmStore::Get(kSmall);
  auto sequence = store.Sequence(kReads, kSmall.keys, 4);
  auto session = store.OpenSession(kSmall.keys * 16);
  std::vector<std::byte> out(kSmall.value_bytes);
  for (const auto& access : sequence) {
    DUNLIN_CHECK(session->GetInto(AsBytes({access.key, kKeyBytes}), out).ok());
  }
  auto limit = std::make_unique<Histogram>();
  auto subject = std::make_unique<Histogram>();
  Writer writer(store);
  for (auto _ : state) {
    for (uint64_t i = 0; i < kReads; ++i) {
      const auto& access = sequence[i];
      const auto& other = sequence[(i + kReads / 2) % kReads];
      Timed(*limit, [&] {
        benchmark::DoNotOptimize(LoadWord(access.lines.slot));
        std::memcpy(out.data(), access.lines.value, out.size());
        benchmark::ClobberMemory();
      });
      Timed(*subject, [&] {
        benchmark::DoNotOptimize(session->GetInto(AsBytes({other.key, kKeyBytes}), out));
      });
    }
  }
  double limit_tail = static_cast<double>(limit->Percentile(99.9));
  double subject_tail = static_cast<double>(subject->Percentile(99.9));
  state.counters["limit_ns"] = limit_tail;
  state.counters["dunlin_ns"] = subject_tail;
  state.counters["ratio"] = subject_tail / limit_tail;
  state.counters["bound"] = 3.0;
}

BENCHMARK(TailUnderWrites)->Iterations(2)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace dunlin::bench
