#include "common/snapshot/database_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/file_system.h>
#include <rocksdb/table.h>

#include <cstdarg>
#include <cstdio>
#include <utility>

#include "common/snapshot/file_checksum.h"
#include "common/snapshot/file_steps.h"

namespace dunlin {
namespace {

// Large enough that block headers and index entries cost nothing, small enough for a Get.
constexpr size_t kBlockBytes = size_t{16} << 10;

constexpr int kMaxOpenTables = 200;

class ErrorLog : public rocksdb::Logger {
 public:
  explicit ErrorLog(SnapshotEngine::Warn warn)
      : rocksdb::Logger(warn ? rocksdb::ERROR_LEVEL : rocksdb::NUM_INFO_LOG_LEVELS),
        warn_(std::move(warn)) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    if (!warn_) return;
    char line[500];
    std::vsnprintf(line, sizeof line, format, arguments);
    warn_(line);
  }

 private:
  const SnapshotEngine::Warn warn_;
};

}  // namespace

SnapshotEngine::SnapshotEngine(const SnapshotFileSystem& file_system, const Warn& warn)
    : file_system_(OrHostFileSystem(file_system)),
      memory_(std::make_shared<RememberingFileSystem>(file_system_)),
      env_(rocksdb::NewCompositeEnv(memory_)),
      log_(std::make_shared<ErrorLog>(warn)) {}

rocksdb::Options SnapshotEngine::Common(size_t cache_bytes) const {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = kBlockBytes;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.block_cache = rocksdb::NewLRUCache(cache_bytes, 0);

  rocksdb::Options options;
  options.env = env_.get();
  options.info_log = log_;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.file_checksum_gen_factory = FileChecksums();
  // Values are the application's: usually compressed already where that pays, and copied so fast
  // that compressing would be what a pass waits for.
  options.compression = rocksdb::kNoCompression;
  options.bottommost_compression = rocksdb::kNoCompression;
  options.paranoid_checks = true;
  options.max_open_files = kMaxOpenTables;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::Options SnapshotEngine::Live(uint64_t table_bytes, size_t cache_bytes) const {
  rocksdb::Options options = Common(cache_bytes);
  // Nothing is ever put into it but whole tables.
  options.write_buffer_size = size_t{64} << 10;
  options.max_background_jobs = 2;
  options.compaction_readahead_size = size_t{256} << 10;
  options.target_file_size_base = table_bytes;
  // Keeps what is overwritten or deleted, but not yet merged away, to a tenth or so.
  options.level_compaction_dynamic_level_bytes = true;
  options.max_bytes_for_level_base = table_bytes * 4;
  options.level0_file_num_compaction_trigger = 8;
  // The store itself waits when merging falls behind (LiveDatabase::WaitForMerging).
  options.level0_slowdown_writes_trigger = 1 << 20;
  options.level0_stop_writes_trigger = 1 << 20;
  options.soft_pending_compaction_bytes_limit = 0;
  options.hard_pending_compaction_bytes_limit = 0;
  return options;
}

}  // namespace dunlin
