#pragma once

#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "common/snapshot/remembering_file_system.h"
#include "common/snapshot/snapshot_directory.h"

namespace dunlin {

// What RocksDB runs on: it keeps no reference to its environment, so this outlives the databases.
class SnapshotEngine {
 public:
  using Warn = std::function<void(std::string_view)>;

  // `warn` may be empty; RocksDB's threads call it.
  SnapshotEngine(const SnapshotFileSystem& file_system, const Warn& warn);

  rocksdb::FileSystem& fs() const { return *file_system_; }

  // Lies between RocksDB and fs().
  RememberingFileSystem& memory() const { return *memory_; }

  // How tables are written and read, for a database as for a single table. The cache is for blocks
  // of entries; beside it each open table keeps its index, of some 100 KiB for 64 MiB.
  rocksdb::Options Common(size_t cache_bytes) const;

  // The database that passes go into.
  rocksdb::Options Live(uint64_t table_bytes, size_t cache_bytes) const;

 private:
  SnapshotFileSystem file_system_;
  std::shared_ptr<RememberingFileSystem> memory_;
  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<rocksdb::Logger> log_;
};

}  // namespace dunlin
