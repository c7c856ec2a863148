#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench/snapshot/snapshot_bench.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/fast_clock.h"
#include "common/base/histogram.h"
#include "common/base/random.h"

extern char** environ;

namespace dunlin::bench {
namespace {

constexpr uint64_t kRecords = 1'000'000;
constexpr uint32_t kValueBytes = 64;
constexpr int kSlices = 40;
constexpr int64_t kSliceNanos = 250'000'000;
constexpr uint32_t kReadsAPut = 50;

// A reader that now and then writes, so that there is something to be saved.
struct Times {
  Histogram reads;
  uint64_t calls = 0;
  int64_t nanos = 0;
  double NanosACall() const { return static_cast<double>(nanos) / static_cast<double>(calls); }
};

template <typename Get, typename Put>
void Slice(uint64_t seed, Times& times, const Get& get, const Put& put) {
  SystemClock clock;
  FastClock fast(&clock);
  Random random(seed);
  char key[kKeyBytes];
  const int64_t begin = fast.NowNanos();
  int64_t now = begin;
  while (now - begin < kSliceNanos) {
    WriteScatteredKey(random.Below(kRecords), key);
    if (random.Below(kReadsAPut) == 0) {
      put(key);
      now = fast.NowNanos();
      continue;
    }
    get(key);
    const int64_t after = fast.NowNanos();
    times.reads.Record(static_cast<uint64_t>(after - now));
    now = after;
    ++times.calls;
  }
  times.nanos += now - begin;
}

void SliceOf(Store& store, uint64_t seed, Times& times) {
  char value[kValueBytes];
  const std::string written = ValueOf(seed, kValueBytes);
  Slice(
      seed, times,
      [&](const char* key) {
        DUNLIN_CHECK(
            store.session
                ->GetInto(AsBytes({key, kKeyBytes}), std::as_writable_bytes(std::span(value)), {})
                .ok());
      },
      [&](const char* key) {
        DUNLIN_CHECK(store.session->PutBytes(AsBytes({key, kKeyBytes}), AsBytes(written), {}).ok());
      });
}

void Print(const std::string& name, const Times& with, const Times& without, double time_bound,
           double p99_bound, const std::string& details) {
  PrintRatio(name + "_time_a_read", with.NanosACall() / without.NanosACall(), time_bound, details);
  PrintRatio(name + "_p99",
             static_cast<double>(with.reads.Percentile(99)) /
                 static_cast<double>(without.reads.Percentile(99)),
             p99_bound, "p99_ns=" + std::to_string(with.reads.Percentile(99)));
}

// Just enough of the protocol of redis-server.
class Redis {
 public:
  explicit Redis(const std::string& folder) : socket_path_(folder + "/redis.sock") {
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      "0",
                                      "--unixsocket",
                                      socket_path_,
                                      "--dir",
                                      folder,
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--logfile",
                                      folder + "/redis.log"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    running_ = posix_spawnp(&pid_, "redis-server", nullptr, nullptr, argv.data(), environ) == 0;
  }
  ~Redis() {
    if (!running_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    if (fd_ >= 0) close(fd_);
  }
  // False: there is no redis-server here.
  bool Connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_path_.c_str(), sizeof address.sun_path - 1);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (running_ && std::chrono::steady_clock::now() < give_up) {
      fd_ = socket(AF_UNIX, SOCK_STREAM, 0);
      if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return true;
      close(fd_);
      fd_ = -1;
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) running_ = false;
    }
    return false;
  }
  // One request and its reply of one line, or of a bulk string.
  std::string Ask(const std::string& request) {
    DUNLIN_CHECK_EQ(write(fd_, request.data(), request.size()),
                    static_cast<ssize_t>(request.size()));
    std::string reply;
    char buffer[4096];
    for (;;) {
      const ssize_t n = read(fd_, buffer, sizeof buffer);
      DUNLIN_CHECK(n > 0);
      reply.append(buffer, static_cast<size_t>(n));
      const size_t line = reply.find("\r\n");
      if (line == std::string::npos) continue;
      if (reply[0] != '$') return reply;
      const long bytes = std::strtol(reply.c_str() + 1, nullptr, 10);
      if (bytes < 0 || reply.size() >= line + 4 + static_cast<size_t>(bytes)) return reply;
    }
  }
  void Get(const char* key) {
    Ask("*2\r\n$3\r\nGET\r\n$16\r\n" + std::string(key, kKeyBytes) + "\r\n");
  }
  void Put(const char* key, const std::string& value) {
    Ask("*3\r\n$3\r\nSET\r\n$16\r\n" + std::string(key, kKeyBytes) + "\r\n$" +
        std::to_string(value.size()) + "\r\n" + value + "\r\n");
  }
  bool Saving() {
    return Ask("*2\r\n$4\r\nINFO\r\n$11\r\npersistence\r\n").find("rdb_bgsave_in_progress:1") !=
           std::string::npos;
  }
  void Save() { Ask("*1\r\n$6\r\nBGSAVE\r\n"); }

 private:
  std::string socket_path_;
  pid_t pid_ = -1;
  bool running_ = false;
  int fd_ = -1;
};

void MeasureRedis(const std::string& folder) {
  Redis redis(folder);
  if (!redis.Connect()) {
    std::fprintf(stderr,
                 "no redis-server here: nothing to compare with (apt install redis-server)\n");
    return;
  }
  char key[kKeyBytes];
  const std::string value = ValueOf(1, kValueBytes);
  for (uint64_t n = 0; n < kRecords; ++n) {
    WriteScatteredKey(n, key);
    redis.Put(key, value);
  }
  Times with, without;
  const auto slice = [&](int i, Times& times) {
    Slice(
        static_cast<uint64_t>(i), times, [&](const char* k) { redis.Get(k); },
        [&](const char* k) { redis.Put(k, value); });
  };
  uint64_t saves = 0;
  for (int i = 0; i < kSlices; ++i) {
    if (!redis.Saving()) {
      redis.Save();
      ++saves;
    }
    slice(i, with);
    while (redis.Saving()) {
    }
    slice(i, without);
  }
  // Its figures are for comparison: there is no bound for them.
  Print("redis_bgsave", with, without, 1e9, 1e9, "saves=" + std::to_string(saves));
}

}  // namespace

void MeasureReaders(const std::string& folder) {
  const std::string dir = folder + "/readers";
  const std::string records = std::to_string(kRecords);
  Store saving = StartStore(
      "256MiB", {"--records", records, "--snapshot-dir", dir, "--snapshot-interval", "100ms"},
      64u << 20);
  Store resting = StartStore("256MiB", {"--records", records}, 64u << 20);
  Fill(*saving.session, kRecords, kValueBytes);
  Fill(*resting.session, kRecords, kValueBytes);
  DUNLIN_CHECK_OK(saving.client->CreateSnapshot(Milliseconds(60'000)));
  Times with, without;
  for (int i = 0; i < kSlices; ++i) {
    SliceOf(saving, static_cast<uint64_t>(i), with);
    SliceOf(resting, static_cast<uint64_t>(i), without);
  }
  auto status = saving.client->Status();
  DUNLIN_CHECK_OK(status);
  Print("snapshots", with, without, 1.05, 1.10,
        "made=" + std::to_string(status->snapshots->made) +
            " cpu_ms=" + std::to_string(status->snapshots->cpu_nanos / 1'000'000));
  saving = {};
  resting = {};
  std::filesystem::remove_all(dir);
  MeasureRedis(folder);
}

}  // namespace dunlin::bench
