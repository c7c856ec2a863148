#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

#include "bench/upkeep/upkeep.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/fast_clock.h"
#include "common/base/random.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kRecords = 50'000'000;
constexpr uint32_t kValueBytes = 64;

// The longest that operations of one thread took, without the waits for a processor: its own and
// the server's.
class Longest {
 public:
  explicit Longest(int server) : server_(server) { Mark(); }

  template <typename Operation>
  void Time(Operation&& operation) {
    const int64_t begin = fast_.NowNanos();
    operation();
    const int64_t nanos = fast_.NowNanos() - begin;
    if (nanos > kWorthALook) {
      longest_ = std::max(longest_,
                          nanos - (RunQueueNanos() - own_) - (RunQueueNanos(server_) - servers_));
      with_waits_ = std::max(with_waits_, nanos);
    }
    // Often, so that little that was waited for before is taken for a wait of the next.
    if (nanos > kWorthALook || ++count_ % kMarkEvery == 0) Mark();
  }
  int64_t longest() const { return longest_; }
  int64_t with_waits() const { return with_waits_; }

 private:
  static constexpr int64_t kWorthALook = 1'000'000;
  static constexpr uint64_t kMarkEvery = 256;
  void Mark() {
    own_ = RunQueueNanos();
    servers_ = RunQueueNanos(server_);
  }

  const int server_;
  SystemClock clock_;
  FastClock fast_{&clock_};
  int64_t own_ = 0;
  int64_t servers_ = 0;
  uint64_t count_ = 0;
  int64_t longest_ = 0;
  int64_t with_waits_ = 0;
};

void PrintLongest(const char* name, const Longest& longest) {
  char details[80];
  std::snprintf(details, sizeof details, "ms with_run_queue_ms=%.1f",
                static_cast<double>(longest.with_waits()) / 1e6);
  PrintRatio(name, static_cast<double>(longest.longest()) / 1e6, 20, details);
}

}  // namespace

void MeasureGrowth() {
  auto server = StartServer("7GiB", {"--records", "1000", "--huge-pages", "auto"});
  auto client = ConnectTo(*server);
  std::atomic<uint64_t> written = 0;
  std::atomic<bool> done = false;
  std::unique_ptr<Longest> reads;
  std::thread reader([&] {
    reads = std::make_unique<Longest>(server->pid());
    auto session = OpenOn(*client, 16u << 20);
    Random random(7);
    char key[kKeyBytes];
    char value[kValueBytes];
    while (!done) {
      const uint64_t n = written;
      if (n == 0) continue;
      WriteKey(random.Below(n), key);
      GetResult result;
      reads->Time([&] {
        result = session->GetInto(AsBytes({key, kKeyBytes}),
                                  std::as_writable_bytes(std::span(value)), {});
      });
      DUNLIN_CHECK(result.ok(), "a key that was put is not to be read");
    }
  });
  Longest writes(server->pid());
  {
    auto session = OpenOn(*client, 16u << 20);
    char key[kKeyBytes];
    const std::string value(kValueBytes, 'v');
    for (uint64_t n = 0; n < kRecords; ++n) {
      WriteKey(n, key);
      WriteResult result;
      writes.Time([&] {
        result = session->PutBytes(AsBytes({key, kKeyBytes}), AsBytes(value), {});
      });
      DUNLIN_CHECK(result.ok(), "a put failed while the index grew");
      written = n + 1;
    }
  }
  done = true;
  reader.join();
  PrintLongest("growth_longest_put", writes);
  PrintLongest("growth_longest_get", *reads);
  auto status = client->Status(true);
  DUNLIN_CHECK_OK(status);
  DUNLIN_CHECK_EQ(status->items, kRecords);
  // What is in use of the region, and the server's private books.
  const uint64_t bytes = status->region_bytes - status->heap_free_bytes + status->allocator_bytes;
  PrintRatio("memory_of_50M_records", static_cast<double>(bytes) / (1024.0 * 1024 * 1024), 7,
             "GiB items=" + std::to_string(status->items) +
                 " splits=" + std::to_string(status->splits) +
                 " index_MiB=" + std::to_string(status->index_bytes >> 20) +
                 " spare_index_MiB=" + std::to_string(status->index_spare_bytes >> 20));
}

}  // namespace dunlin::bench
