#include <cstdio>
#include <memory>

#include "bench/upkeep/upkeep.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/fast_clock.h"
#include "common/base/histogram.h"
#include "common/base/random.h"

namespace dunlin::bench {
namespace {

constexpr uint64_t kRecords = 1'000'000;
constexpr uint32_t kValueBytes = 64;
constexpr int kSlices = 40;
constexpr int64_t kSliceNanos = 200'000'000;

// A store whose memory has become sparse: of ten records seven were removed, and no page is free.
struct Store {
  std::unique_ptr<testing::ServerProcess> server;
  std::unique_ptr<Client> client;
  std::unique_ptr<Session> session;
  std::vector<uint64_t> keys;
  Histogram times;
  uint64_t reads = 0;
  int64_t nanos = 0;
};

void Fill(Store& store, const char* period) {
  store.server = StartServer("128MiB", {"--huge-pages", "auto", "--records", "1000000",
                                        "--patrol-period", period, "--grace", "100ms"});
  store.client = ConnectTo(*store.server);
  store.session = OpenOn(*store.client, 64u << 20);
  const std::string value(kValueBytes, 'v');
  Random random(5);
  char key[kKeyBytes];
  for (uint64_t n = 0; n < kRecords; ++n) {
    WriteKey(n, key);
    DUNLIN_CHECK(store.session->PutBytes(AsBytes({key, kKeyBytes}), AsBytes(value), {}).ok());
  }
  for (uint64_t n = 0; n < kRecords; ++n) {
    WriteKey(n, key);
    if (random.Below(10) < 7) {
      DUNLIN_CHECK(store.session->RemoveBytes(AsBytes({key, kKeyBytes}), {}).ok());
    } else {
      store.keys.push_back(n);
    }
  }
}

void Read(Store& store, uint64_t seed) {
  SystemClock clock;
  FastClock fast(&clock);
  Random random(seed);
  char key[kKeyBytes];
  char value[kValueBytes];
  const int64_t begin = fast.NowNanos();
  int64_t now = begin;
  while (now - begin < kSliceNanos) {
    WriteKey(store.keys[random.Below(store.keys.size())], key);
    const GetResult result = store.session->GetInto(AsBytes({key, kKeyBytes}),
                                                    std::as_writable_bytes(std::span(value)), {});
    DUNLIN_CHECK(result.ok());
    const int64_t after = fast.NowNanos();
    store.times.Record(static_cast<uint64_t>(after - now));
    now = after;
    ++store.reads;
  }
  store.nanos += now - begin;
}

double NanosARead(const Store& store) {
  return static_cast<double>(store.nanos) / static_cast<double>(store.reads);
}

}  // namespace

void MeasurePatrol() {
  // One walks all the time, at its default share of a core; the other never.
  auto walking = std::make_unique<Store>();
  auto resting = std::make_unique<Store>();
  Fill(*walking, "1ms");
  Fill(*resting, "24h");
  for (int slice = 0; slice < kSlices; ++slice) {
    Read(*walking, static_cast<uint64_t>(slice));
    Read(*resting, static_cast<uint64_t>(slice));
  }
  auto status = walking->client->Status();
  DUNLIN_CHECK_OK(status);
  const ServerPatrol& patrol = status->patrol;
  const std::string details = "walks=" + std::to_string(patrol.walks) +
                              " relocated=" + std::to_string(patrol.relocated) +
                              " cpu_ms=" + std::to_string(patrol.cpu_nanos / 1'000'000);
  PrintRatio("patrol_time_a_read", NanosARead(*walking) / NanosARead(*resting), 1.05, details);
  PrintRatio("patrol_p99",
             static_cast<double>(walking->times.Percentile(99)) /
                 static_cast<double>(resting->times.Percentile(99)),
             1.10, "p99_ns=" + std::to_string(walking->times.Percentile(99)));
}

}  // namespace dunlin::bench
