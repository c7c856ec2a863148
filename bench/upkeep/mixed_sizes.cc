#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "bench/upkeep/upkeep.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/layout/record.h"
#include "common/layout/size_class.h"

namespace dunlin::bench {
namespace {

constexpr int kSessions = 4;
constexpr double kSmallestValue = 16;
constexpr double kLargestValue = 20'480;
constexpr int64_t kCacheNanos = 8'000'000'000;

// As many values of 20 to 40 bytes as of 10,000 to 20,000.
uint64_t DrawSize(Random& random) {
  return static_cast<uint64_t>(kSmallestValue *
                               std::pow(kLargestValue / kSmallestValue, random.Unit()));
}

struct Written {
  uint64_t key;
  uint64_t bytes;  // of heap that its block takes
};

struct Writer {
  std::unique_ptr<Session> session;
  Random random{0};
  uint64_t next_key = 0;
  std::string value = std::string(static_cast<size_t>(kLargestValue), 'v');
  std::vector<Written> written;
  uint64_t refused = 0;

  // False: memory is full.
  bool PutNext() {
    char key[kKeyBytes];
    const uint64_t bytes = DrawSize(random);
    const uint64_t block = BlockBytes(ClassFor(RecordBytes(kKeyBytes, bytes, false)));
    written.push_back({next_key++, block});
    WriteKey(written.back().key, key);
    PutOptions options;
    options.deadline = Milliseconds(60'000);
    const WriteResult put = session->PutBytes(
        AsBytes({key, kKeyBytes}), AsBytes(std::string_view(value).substr(0, bytes)), options);
    DUNLIN_CHECK(put.ok() || put.outcome == Outcome::kMemoryFull);
    refused += !put.ok();
    return put.ok();
  }
};

struct Store {
  std::unique_ptr<testing::ServerProcess> server;
  std::unique_ptr<Client> client;
  std::vector<Writer> writers{static_cast<size_t>(kSessions)};

  Store(const char* memory, const char* mode) {
    server = StartServer(memory, {"--mode", mode, "--grace", "100ms", "--huge-pages", "auto",
                                  "--max-sessions", "64"});
    client = ConnectTo(*server);
    for (size_t i = 0; i < writers.size(); ++i) {
      writers[i].session = OpenOn(*client, 1u << 20);
      writers[i].random = Random(i + 1);
      writers[i].next_key = i << 32;
    }
  }

  // Of the heap: what index and records that are there take, in blocks.
  double Share(uint64_t* records) {
    auto status = client->Status(true);
    DUNLIN_CHECK_OK(status);
    uint64_t bytes = status->heap_index_bytes;
    *records = 0;
    for (Writer& writer : writers) {
      for (const Written& w : writer.written) {
        char key[kKeyBytes];
        WriteKey(w.key, key);
        if (!writer.session->Head(AsBytes({key, kKeyBytes}), {}).ok()) continue;
        bytes += w.bytes;
        ++*records;
      }
    }
    return static_cast<double>(bytes) / static_cast<double>(status->heap_bytes);
  }
};

void Fill(const char* memory) {
  Store store(memory, "store");
  bool room = true;
  for (size_t i = 0; room; ++i) room = store.writers[i % kSessions].PutNext();
  uint64_t records = 0;
  const double share = store.Share(&records);
  char details[96];
  std::snprintf(details, sizeof details, "used=%.3f of the heap records=%lu", share,
                static_cast<unsigned long>(records));
  PrintRatio(std::string("mixed_sizes_store_unused_") + memory, 1 - share, 0.15, details);
}

// `pause`: nanoseconds from put to put of each session.
void Turn(const char* memory, const char* pace, int64_t pause) {
  Store store(memory, "cache");
  std::vector<std::thread> threads;
  for (Writer& writer : store.writers) {
    threads.emplace_back([&writer, pause] {
      SystemClock clock;
      const int64_t begin = clock.NowNanos();
      for (int64_t next = begin; clock.NowNanos() - begin < kCacheNanos; next += pause) {
        (void)writer.PutNext();
        const int64_t early = next - clock.NowNanos();
        if (pause != 0 && early > 0) clock.Pause(early);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t written = 0;
  uint64_t refused = 0;
  for (const Writer& writer : store.writers) {
    written += writer.written.size();
    refused += writer.refused;
  }
  uint64_t records = 0;
  const double share = store.Share(&records);
  char details[128];
  std::snprintf(details, sizeof details, "used=%.3f of the heap records=%lu of %lu refused=%lu",
                share, static_cast<unsigned long>(records), static_cast<unsigned long>(written),
                static_cast<unsigned long>(refused));
  const std::string name = std::string(pace) + "_" + memory;
  PrintRatio("mixed_sizes_cache_unused_" + name, 1 - share, 0.3, details);
  PrintRatio("mixed_sizes_cache_refused_" + name, static_cast<double>(refused), 0, details);
}

}  // namespace

void MeasureMixedSizes() {
  for (const char* memory : {"16MiB", "64MiB"}) {
    Fill(memory);
    Turn(memory, "paced", 1'000'000);
    Turn(memory, "flat_out", 0);
  }
}

}  // namespace dunlin::bench
