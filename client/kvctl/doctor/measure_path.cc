#include "client/kvctl/doctor/measure_path.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/repeat.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr uint64_t kMostOperations = 2000, kMostGets = 64, kMostPings = 200;
// Each put unlinks the value before, whose memory is free again only after the grace period: the
// server's other clients must not miss it.
constexpr uint64_t kMostPuts = 8, kShareOfFree = 32;
constexpr uint64_t kSmallBytes = 64, kLargeBytes = 1 << 20;
// Should the doctor die in between, its keys go by themselves.
constexpr Milliseconds kTimeToLive{600'000};

class StoreProbe {
 public:
  StoreProbe(Session& session, uint64_t heap_free_bytes, const Clock& clock)
      : session_(session),
        clock_(clock),
        large_bytes_(std::min({kLargeBytes, session.max_value_bytes(),
                               std::max(kSmallBytes, heap_free_bytes / kShareOfFree)})),
        small_key_(absl::StrCat("kvctl-doctor/", clock.WallNanos(), "/small")),
        large_key_(absl::StrCat("kvctl-doctor/", clock.WallNanos(), "/large")) {}

  absl::Status Measure(StorePathResult* result) {
    const std::string small(kSmallBytes, 'd');
    std::vector<std::byte> buffer(std::max<uint64_t>(kSmallBytes, large_bytes_));
    DUNLIN_RETURN_IF_ERROR(FirstPut(small_key_, small));
    DUNLIN_RETURN_IF_ERROR(Time(&result->put_known, [&] { return Put(small_key_, small); }));
    DUNLIN_RETURN_IF_ERROR(Time(&result->get_known, [&] { return Get(small_key_, buffer); }));
    DUNLIN_RETURN_IF_ERROR(TimeCold(&result->get_cold, [&] { return Get(small_key_, buffer); }));
    const std::string large(large_bytes_, 'D');
    DUNLIN_RETURN_IF_ERROR(FirstPut(large_key_, large));
    DUNLIN_RETURN_IF_ERROR(
        Transfer(&result->put_bandwidth, kMostPuts, [&] { return Put(large_key_, large); }));
    return Transfer(&result->get_bandwidth, kMostGets, [&] { return Get(large_key_, buffer); });
  }

  absl::Status Cleanup() {
    absl::Status status;
    for (const std::string& key : put_) {
      const Outcome outcome = session_.RemoveBytes(AsBytes(key)).outcome;
      if (outcome != Outcome::kOk && outcome != Outcome::kNotFound) {
        status.Update(WithContext(ToStatus(outcome), "remove " + key));
      }
    }
    return status;
  }

 private:
  absl::Status Put(const std::string& key, const std::string& value) {
    PutOptions options;
    options.ttl = kTimeToLive;
    const WriteResult written = session_.PutBytes(AsBytes(key), AsBytes(value), options);
    return written.ok() ? absl::OkStatus() : WithContext(ToStatus(written.outcome), "put " + key);
  }

  absl::Status FirstPut(const std::string& key, const std::string& value) {
    absl::Status status = Put(key, value);
    if (status.ok() || status.code() == absl::StatusCode::kUnknown) put_.push_back(key);
    return status;
  }

  absl::Status Get(const std::string& key, std::span<std::byte> buffer) {
    const GetResult read = session_.GetInto(AsBytes(key), buffer);
    return read.ok() ? absl::OkStatus() : WithContext(ToStatus(read.outcome), "get " + key);
  }

  template <typename Operation>
  absl::Status Time(std::optional<Latency>* result, Operation operation) {
    const auto times = std::make_unique<Histogram>();
    DUNLIN_RETURN_IF_ERROR(Repeat(clock_, kMostOperations, times.get(), operation));
    *result = LatencyOf(*times);
    return absl::OkStatus();
  }

  // Forgetting is not part of the time.
  template <typename Operation>
  absl::Status TimeCold(std::optional<Latency>* result, Operation operation) {
    const auto times = std::make_unique<Histogram>();
    const auto whole = std::make_unique<Histogram>();
    DUNLIN_RETURN_IF_ERROR(Repeat(clock_, kMostOperations, whole.get(), [&] {
      session_.ForgetLocations();
      return Repeat(clock_, 1, times.get(), operation);
    }));
    *result = LatencyOf(*times);
    return absl::OkStatus();
  }

  template <typename Operation>
  absl::Status Transfer(std::optional<Bandwidth>* result, uint64_t most, Operation operation) {
    const auto times = std::make_unique<Histogram>();
    DUNLIN_RETURN_IF_ERROR(Repeat(clock_, most, times.get(), operation));
    *result = BandwidthOf(*times, large_bytes_);
    return absl::OkStatus();
  }

  Session& session_;
  const Clock& clock_;
  const uint64_t large_bytes_;
  const std::string small_key_, large_key_;
  std::vector<std::string> put_;  // keys that the server has, or may have
};

}  // namespace

absl::StatusOr<StorePathResult> MeasureStore(Client& client, Milliseconds timeout,
                                             const Clock& clock) {
  StorePathResult result;
  const auto times = std::make_unique<Histogram>();
  DUNLIN_RETURN_IF_ERROR(Repeat(clock, kMostPings, times.get(), [&]() -> absl::Status {
    DUNLIN_ASSIGN_OR_RETURN(const Client::Pong pong, client.Ping());
    result.release = pong.release;
    return absl::OkStatus();
  }));
  result.ping = LatencyOf(*times);
  times->Reset();
  DUNLIN_RETURN_IF_ERROR(
      Repeat(clock, kMostOperations, times.get(), [] { return absl::OkStatus(); }));
  result.clock_nanos = times->Percentile(50);
  SessionOptions options;
  options.default_deadline = timeout;
  absl::StatusOr<std::unique_ptr<Session>> session = client.OpenSession(options);
  if (!session.ok()) {
    result.store = session.status();
    return result;
  }
  DUNLIN_ASSIGN_OR_RETURN(const ServerStatus status, client.Status());
  StoreProbe probe(**session, status.heap_free_bytes, clock);
  result.store = probe.Measure(&result);
  result.cleanup = probe.Cleanup();
  return result;
}

}  // namespace dunlin::kvctl
