#include <atomic>
#include <chrono>
#include <thread>

#include "bench/upkeep/upkeep.h"
#include "common/base/check.h"

namespace dunlin::bench {
namespace {

using std::chrono::steady_clock;

constexpr auto kTime = std::chrono::seconds(2);

double PutsPerSecond(Client& client, int writers) {
  std::atomic<uint64_t> puts = 0;
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < writers; ++i) {
    threads.emplace_back([&] {
      auto session = OpenOn(client, 1u << 20);
      const std::string value(64, 'v');
      ++ready;
      while (ready < writers) std::this_thread::yield();
      const auto end = steady_clock::now() + kTime;
      uint64_t mine = 0;
      for (; mine % 64 != 0 || steady_clock::now() < end; ++mine) {
        DUNLIN_CHECK(session->Put("hot", value).ok());
      }
      puts += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(puts) / std::chrono::duration<double>(kTime).count();
}

}  // namespace

void MeasureHotKey() {
  auto server = StartServer("2GiB", {"--huge-pages", "auto", "--grace", "100ms"});
  auto client = ConnectTo(*server);
  DUNLIN_CHECK(OpenOn(*client, 0)->Put("hot", "v").ok());
  const double one = PutsPerSecond(*client, 1);
  const double eight = PutsPerSecond(*client, 8);
  PrintRatio("hot_key_one_writer_to_eight", one / eight, 2,
             "one=" + std::to_string(static_cast<uint64_t>(one)) +
                 "/s eight=" + std::to_string(static_cast<uint64_t>(eight)) + "/s");
}

}  // namespace dunlin::bench
