#pragma once

#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dunlin {

// A finished table of a pass.
struct PassTable {
  std::string path;
  std::string checksum;      // RocksDB's bytes
  std::string smallest_key;  // of the database
  std::string largest_key;
};

// Writes what a pass found into tables, one after another, in a folder that exists.
class PassWriter {
 public:
  PassWriter(std::string folder, const rocksdb::Options& options, uint64_t table_bytes);

  // Tags must increase strictly: InvalidArgument. After any error there is no going on.
  absl::Status Put(uint64_t tag, std::span<const std::byte> entry);
  absl::Status Delete(uint64_t tag);
  // Tags may begin anew; what comes later counts.
  absl::Status BeginLayer();

  // All tables, whole and synced.
  absl::StatusOr<std::vector<PassTable>> Finish();

  uint64_t changed() const { return changed_; }
  uint64_t deleted() const { return deleted_; }

 private:
  absl::Status Prepare(uint64_t tag, size_t entry_bytes);
  absl::Status FinishTable();

  const std::string folder_;
  const uint64_t table_bytes_;
  rocksdb::SstFileWriter writer_;
  bool open_ = false;
  uint64_t open_bytes_ = 0;
  std::string path_;  // of the open table
  std::vector<PassTable> tables_;
  std::optional<uint64_t> last_tag_;
  uint64_t changed_ = 0;
  uint64_t deleted_ = 0;
};

}  // namespace dunlin
