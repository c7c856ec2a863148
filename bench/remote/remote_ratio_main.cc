// remote_ratio DEVICE=ADDRESS [ROUNDS]: Dunlin's get and put over RDMA beside raw verbs that move
// the same bytes, interleaved in one process, in medians. One line for each:
//
//   ratio DEVICE NAME RATIO BOUND limit_ns=N dunlin_ns=N
//
// and, as server_us_per_get, what a get costs the server's process beyond its idle rate. Starts
// both servers itself.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/raw_verbs/raw_client.h"
#include "bench/raw_verbs/raw_server.h"
#include "bench/raw_verbs/tsc.h"
#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "dunlin/client.h"
#include "tests/support/server_process.h"

namespace dunlin::bench {
namespace {

constexpr size_t kKeyBytes = 16;
constexpr uint32_t kValueBytes = 64;
constexpr uint32_t kKeys = 2000;
constexpr double kBound = 1.25;

// A process of its own: both servers are then equally far from the client.
class RawServerProcess {
 public:
  explicit RawServerProcess(const std::string& address) {
    int ends[2];
    DUNLIN_CHECK_EQ(pipe(ends), 0);
    pid_ = fork();
    DUNLIN_CHECK(pid_ >= 0);
    if (pid_ == 0) Serve(address, ends[1]);
    close(ends[1]);
    DUNLIN_CHECK_EQ(read(ends[0], &port_, sizeof port_), static_cast<ssize_t>(sizeof port_));
    close(ends[0]);
  }
  ~RawServerProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  uint16_t port() const { return port_; }

 private:
  [[noreturn]] static void Serve(const std::string& address, int to) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto server = RawServer::Listen(address, 0);
    if (server.ok()) {
      const uint16_t port = (*server)->port();
      if (write(to, &port, sizeof port) == sizeof port) (*server)->Serve().IgnoreError();
    }
    _exit(1);
  }

  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

std::string KeyOf(uint32_t n) {
  char key[kKeyBytes + 1];
  std::snprintf(key, sizeof key, "key-%012u", n);
  return {key, kKeyBytes};
}

uint64_t Median(std::vector<uint64_t>& values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Comparison {
 public:
  Comparison(std::string device, const std::string& address, uint32_t rounds)
      : device_(std::move(device)), rounds_(rounds), raw_server_(address) {
    auto server = testing::ServerProcess::Start({.binary = DUNLIN_SERVER_BINARY,
                                                 .memory = "64MiB",
                                                 .more = {},
                                                 .fabric = {"rdma", address}});
    DUNLIN_CHECK_OK(server);
    server_ = *std::move(server);
    RawClientOptions raw;
    raw.address = address;
    raw.port = raw_server_.port();
    auto raw_client = RawClient::Connect(raw);
    DUNLIN_CHECK_OK(raw_client);
    raw_ = *std::move(raw_client);
    auto client = Client::Connect(server_->target());
    DUNLIN_CHECK_OK(client);
    client_ = *std::move(client);
    known_ = Open(4u << 20);
    cold_ = Open(0);
    for (uint32_t n = 0; n < kKeys; ++n) Put(*known_, n);
  }

  void Run() {
    Report(
        "known_get", 1, [this] { return *raw_->ReadPair(kValueBytes); },
        [this](uint32_t n) { Get(*known_, n); });
    Report(
        "cold_get", 2, [this] { return *raw_->ReadPair(kValueBytes); },
        [this](uint32_t n) { Get(*cold_, n); });
    if (raw_->has_atomics()) {
      Report(
          "known_put", 1, [this] { return *raw_->WriteCas(kValueBytes); },
          [this](uint32_t n) { Put(*known_, n); });
    }
    ReportServerCpu();
  }

 private:
  std::unique_ptr<Session> Open(uint64_t cache_bytes) {
    SessionOptions options;
    options.location_cache_bytes = cache_bytes;
    auto session = client_->OpenSession(options);
    DUNLIN_CHECK_OK(session);
    return *std::move(session);
  }

  void Get(Session& session, uint32_t n) {
    const std::string key = KeyOf(n);
    const uint64_t begin = TscNow();
    const GetResult got = session.GetInto(AsBytes(key), value_);
    took_ = TscNow() - begin;
    DUNLIN_CHECK(got.ok() && got.value_bytes == kValueBytes);
  }
  void Put(Session& session, uint32_t n) {
    const std::string key = KeyOf(n);
    const uint64_t begin = TscNow();
    const WriteResult put = session.PutBytes(AsBytes(key), value_);
    took_ = TscNow() - begin;
    DUNLIN_CHECK(put.ok());
  }

  // `limits`: of the raw operations, one after the other, make the limit.
  void Report(const char* name, double limits, const std::function<uint64_t()>& raw,
              const std::function<void(uint32_t)>& dunlin) {
    std::vector<uint64_t> limit;
    std::vector<uint64_t> own;
    for (uint32_t i = 0; i < rounds_; ++i) {
      limit.push_back(raw());
      dunlin(static_cast<uint32_t>(random_.Below(kKeys)));
      own.push_back(took_);
    }
    const double tick = scale_.NanosPerTick();
    const double limit_ns = static_cast<double>(Median(limit)) * tick * limits;
    const double own_ns = static_cast<double>(Median(own)) * tick;
    std::printf("ratio %s %s %.3f %.2f limit_ns=%.0f dunlin_ns=%.0f\n", device_.c_str(), name,
                own_ns / limit_ns, kBound, limit_ns, own_ns);
    std::fflush(stdout);
  }

  void ReportServerCpu() {
    constexpr int kGets = 10'000;
    const int64_t before = server_->CpuNanos();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kGets; ++i) Get(*known_, static_cast<uint32_t>(i) % kKeys);
    const auto busy_time = std::chrono::steady_clock::now() - begin;
    const int64_t busy = server_->CpuNanos() - before;
    // sleeps to measure what the server costs over the same time with nobody calling
    std::this_thread::sleep_for(busy_time);
    const int64_t idle = server_->CpuNanos() - before - busy;
    // The kernel of a virtual machine counts in milliseconds: a microsecond a get is ten of them.
    constexpr double kServerBound = 1.0;
    const double beyond_idle = static_cast<double>(busy - idle) / 1000.0 / kGets;
    std::printf("ratio %s server_us_per_get %.3f %.2f busy_us=%lld idle_us=%lld\n", device_.c_str(),
                beyond_idle, kServerBound, static_cast<long long>(busy / 1000),
                static_cast<long long>(idle / 1000));
  }

  const std::string device_;
  const uint32_t rounds_;
  RawServerProcess raw_server_;
  TscScale scale_;
  Random random_{1};
  std::unique_ptr<testing::ServerProcess> server_;
  std::unique_ptr<RawClient> raw_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Session> known_;
  std::unique_ptr<Session> cold_;
  std::vector<std::byte> value_ = std::vector<std::byte>(kValueBytes);
  uint64_t took_ = 0;
};

}  // namespace
}  // namespace dunlin::bench

int main(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "";
  const size_t equals = device.find('=');
  if (argc < 2 || argc > 3 || equals == std::string::npos) {
    std::fprintf(stderr, "usage: remote_ratio DEVICE=ADDRESS [ROUNDS]\n");
    return 2;
  }
  const uint32_t rounds = argc == 3 ? static_cast<uint32_t>(std::atoi(argv[2])) : 3000;
  dunlin::bench::Comparison(device.substr(0, equals), device.substr(equals + 1), rounds).Run();
  return 0;
}
