#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "bench/snapshot/snapshot_bench.h"
#include "common/base/check.h"
#include "common/base/clock.h"

namespace dunlin::bench {
namespace {

// Of a server, without the region: KiB.
uint64_t PrivateKib(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  uint64_t kib = 0;
  while (status >> word) {
    if (word == "RssAnon:") status >> kib;
  }
  return kib;
}

// The largest of it while `work` goes on.
uint64_t LargestPrivateKib(int pid, const std::function<void()>& work) {
  std::atomic<bool> over{false};
  std::atomic<uint64_t> largest{0};
  std::thread watch([&] {
    // Now and then: what is measured needs the cores.
    while (!over) {
      largest = std::max<uint64_t>(largest, PrivateKib(pid));
      SystemClock::Shared().Pause(10'000'000);
    }
  });
  work();
  over = true;
  watch.join();
  return largest;
}

double LoadSeconds(const testing::ServerProcess& server) {
  const std::string log = server.Log();
  const size_t at = log.find("INFO loaded ");
  DUNLIN_CHECK(at != std::string::npos, log.c_str());
  const size_t in = log.find(" in ", at) + 4;
  const char* const text = log.c_str() + in;
  char* unit = nullptr;
  const double value = std::strtod(text, &unit);
  while (*unit == ' ') ++unit;
  return std::strncmp(unit, "ms", 2) == 0 ? value / 1000 : value;
}

// Reads as many bytes as an index has, as fast as one core can.
double ReadMemory(uint64_t bytes) {
  std::vector<uint64_t> words(bytes / sizeof(uint64_t), 1);
  uint64_t sum = 0;
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    best = std::min(best, TimeOf([&] {
                      for (const uint64_t word : words) sum ^= word;
                      asm volatile("" : : "r"(sum));
                    }));
  }
  return best;
}

std::string Text(const char* format, double a, double b) {
  char text[128];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

uint64_t PrivateKibWithoutSnapshots(const std::string& memory, uint64_t records,
                                    uint32_t value_bytes) {
  const Store store = StartStore(memory, {"--records", std::to_string(records)});
  Fill(*store.session, records, value_bytes);
  return PrivateKib(store.server->pid());
}

void MeasureUnchanged(Client& client, const std::string& name) {
  double best = 1e9;
  uint64_t index_bytes = 0;
  for (int i = 0; i < 5; ++i) {
    auto before = client.Status();
    DUNLIN_CHECK_OK(client.CreateSnapshot(Milliseconds(600'000)));
    auto after = client.Status();
    DUNLIN_CHECK(before.ok() && after.ok());
    index_bytes = after->index_bytes;
    best = std::min(best, 1e-9 * static_cast<double>(after->snapshots->cpu_nanos -
                                                     before->snapshots->cpu_nanos));
  }
  const double memory = ReadMemory(index_bytes);
  PrintRatio(name + "_unchanged_pass", best / memory, 2,
             Text("pass_ms=%.1f memory_ms=%.1f", best * 1e3, memory * 1e3));
}

}  // namespace

void MeasureWhole(const std::string& folder, const std::string& name, uint64_t records,
                  uint32_t value_bytes, const std::string& memory) {
  const uint64_t bare = PrivateKibWithoutSnapshots(memory, records, value_bytes);
  const std::string dir = folder + "/" + name;
  const std::vector<std::string> options = {"--records",           std::to_string(records),
                                            "--snapshot-dir",      dir,
                                            "--snapshot-interval", "0",
                                            "--snapshot-percent",  "100"};
  uint64_t id = 0;
  {
    Store store = StartStore(memory, options);
    Fill(*store.session, records, value_bytes);
    // Its blocks are the server's again.
    store.session = nullptr;
    double first = 0;
    const uint64_t largest = LargestPrivateKib(store.server->pid(), [&] {
      first = TimeOf([&] {
        auto made = store.client->CreateSnapshot(Milliseconds(600'000));
        DUNLIN_CHECK_OK(made);
        DUNLIN_CHECK_EQ(made->records, records);
        id = made->id;
      });
    });
    const double alone = WriteTables(folder, records, value_bytes);
    PrintRatio(name + "_first_snapshot", first / alone, 1 / 0.8,
               Text("dunlin_s=%.2f rocksdb_s=%.2f", first, alone));
    const double allowed = 12 * static_cast<double>(records) + (64 << 20);
    const double more = 1024 * (static_cast<double>(largest) - static_cast<double>(bare));
    PrintRatio(name + "_memory", more / allowed, 1,
               Text("mib=%.1f allowed_mib=%.1f", more / (1 << 20), allowed / (1 << 20)));
    MeasureUnchanged(*store.client, name);
    auto last = store.client->ListSnapshots();
    DUNLIN_CHECK_OK(last);
    id = last->front().id;
    store.server->Kill();
  }
  char database[64];
  std::snprintf(database, sizeof database, "/snapshot-%020llu/db",
                static_cast<unsigned long long>(id));
  uint64_t entries = 0;
  Iterate(dir + database, &entries);
  const double bare_read = Iterate(dir + database, &entries);
  const Store restored = StartStore(memory, options);
  const double load = LoadSeconds(*restored.server);
  PrintRatio(name + "_restore", load / bare_read, 1 / 0.8,
             Text("dunlin_s=%.2f rocksdb_s=%.2f", load, bare_read));
  std::filesystem::remove_all(dir);
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".sst") std::filesystem::remove(file.path());
  }
}

}  // namespace dunlin::bench
