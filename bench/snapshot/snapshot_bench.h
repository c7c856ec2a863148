#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/support/bench_support.h"

namespace dunlin::bench {

// What snapshots take and cost. Each part starts servers of its own, on shared memory, works in
// `folder`, on whose disk the figures depend, and prints a line for each figure:
//
//   ratio NAME MEASURED BOUND details
//
// met if MEASURED is at most BOUND. They end the program with a message if they can't measure.

// The first snapshot, restoring it, a pass that finds nothing changed, and memory; beside RocksDB
// alone with the same records.
void MeasureWhole(const std::string& folder, const std::string& name, uint64_t records,
                  uint32_t value_bytes, const std::string& memory);
// A reader while snapshots are made back to back and not at all; the same of redis-server's BGSAVE.
void MeasureReaders(const std::string& folder);

// The n-th key: 16 bytes, in no order.
void WriteScatteredKey(uint64_t n, char* key);
std::string ValueOf(uint64_t n, uint32_t bytes);

struct Store {
  std::unique_ptr<testing::ServerProcess> server;
  std::unique_ptr<Client> client;
  std::unique_ptr<Session> session;
};
Store StartStore(const std::string& memory, std::vector<std::string> options,
                 uint64_t cache_bytes = SessionOptions().location_cache_bytes);
void Fill(Session& session, uint64_t records, uint32_t value_bytes);

// Seconds.
double TimeOf(const std::function<void()>& work);

// RocksDB alone: writes the records by increasing key into tables of 64 MiB, synced. Their sorting
// is not timed. Seconds.
double WriteTables(const std::string& folder, uint64_t records, uint32_t value_bytes);
// RocksDB alone: reads all of a snapshot's database, or of any other, with checksums. Seconds.
double Iterate(const std::string& database, uint64_t* entries);

}  // namespace dunlin::bench
