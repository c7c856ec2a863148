#include "common/snapshot/pass_writer.h"

#include <limits>
#include <utility>

#include "common/snapshot/file_checksum.h"
#include "common/snapshot/rocksdb_status.h"
#include "common/snapshot/snapshot_tag.h"

namespace dunlin {
namespace {

// A table's blocks have 32-bit sizes; what RocksDB adds to a value is far less than this.
constexpr uint64_t kMaxEntryBytes = std::numeric_limits<uint32_t>::max() - (uint64_t{64} << 10);

}  // namespace

PassWriter::PassWriter(std::string folder, const rocksdb::Options& options, uint64_t table_bytes)
    : folder_(std::move(folder)),
      table_bytes_(table_bytes),
      writer_(rocksdb::EnvOptions(options), options) {}

absl::Status PassWriter::Put(uint64_t tag, std::span<const std::byte> entry) {
  if (entry.empty() || entry.size() > kMaxEntryBytes) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "an entry has 1 to " + std::to_string(kMaxEntryBytes) + " bytes, not " +
                          std::to_string(entry.size()));
  }
  DUNLIN_RETURN_IF_ERROR(Prepare(tag, entry.size()));
  const SnapshotKey key = EncodeSnapshotKey(tag);
  DUNLIN_RETURN_IF_ROCKS_ERROR(
      writer_.Put(rocksdb::Slice(key.data(), key.size()),
                  rocksdb::Slice(reinterpret_cast<const char*>(entry.data()), entry.size())),
      "writing '" + path_ + "'");
  ++changed_;
  return absl::OkStatus();
}

absl::Status PassWriter::Delete(uint64_t tag) {
  DUNLIN_RETURN_IF_ERROR(Prepare(tag, 0));
  const SnapshotKey key = EncodeSnapshotKey(tag);
  DUNLIN_RETURN_IF_ROCKS_ERROR(writer_.Delete(rocksdb::Slice(key.data(), key.size())),
                               "writing '" + path_ + "'");
  ++deleted_;
  return absl::OkStatus();
}

absl::Status PassWriter::BeginLayer() {
  last_tag_.reset();
  return open_ ? FinishTable() : absl::OkStatus();
}

absl::StatusOr<std::vector<PassTable>> PassWriter::Finish() {
  if (open_) DUNLIN_RETURN_IF_ERROR(FinishTable());
  return std::move(tables_);
}

absl::Status PassWriter::Prepare(uint64_t tag, size_t entry_bytes) {
  if (tag >= kSnapshotTagEnd || (last_tag_ && tag <= *last_tag_)) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "tags must increase and be below 2^42; found " + std::to_string(tag) +
                          (last_tag_ ? " after " + std::to_string(*last_tag_) : std::string()));
  }
  last_tag_ = tag;
  // Counted here, as the writer's own figure costs more than the entry.
  if (open_ && open_bytes_ >= table_bytes_) DUNLIN_RETURN_IF_ERROR(FinishTable());
  open_bytes_ += kSnapshotKeyBytes + entry_bytes;
  if (open_) return absl::OkStatus();
  path_ = folder_ + "/" + std::to_string(tables_.size()) + ".sst";
  DUNLIN_RETURN_IF_ROCKS_ERROR(writer_.Open(path_), "creating '" + path_ + "'");
  open_ = true;
  return absl::OkStatus();
}

absl::Status PassWriter::FinishTable() {
  open_ = false;
  open_bytes_ = 0;
  rocksdb::ExternalSstFileInfo info;
  DUNLIN_RETURN_IF_ROCKS_ERROR(writer_.Finish(&info), "finishing '" + path_ + "'");
  if (info.file_checksum_func_name != FileChecksumName()) {
    return MakeStatus(absl::StatusCode::kInternal,
                      "RocksDB made a checksum '" + info.file_checksum_func_name + "' of '" +
                          path_ + "'; expected '" + std::string(FileChecksumName()) + "'");
  }
  tables_.push_back({path_, info.file_checksum, info.smallest_key, info.largest_key});
  return absl::OkStatus();
}

}  // namespace dunlin
