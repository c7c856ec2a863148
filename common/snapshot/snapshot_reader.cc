#include "common/snapshot/snapshot_reader.h"

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/layout/checksum.h"
#include "common/snapshot/database_options.h"
#include "common/snapshot/file_checksum.h"
#include "common/snapshot/rocksdb_status.h"
#include "common/snapshot/snapshot_files.h"

namespace dunlin {
namespace {

absl::Status Damaged(const std::string& why) {
  return MakeStatus(absl::StatusCode::kDataLoss, why);
}

Bytes BytesOf(const rocksdb::Slice& slice) { return AsBytes({slice.data(), slice.size()}); }

// The database's own list must be the manifest's: an older state of it would have other files.
absl::Status CompareFiles(rocksdb::DB& db, const SnapshotInfo& info) {
  std::vector<rocksdb::LiveFileMetaData> live;
  db.GetLiveFilesMetaData(&live);
  std::vector<SnapshotFile> found;
  for (const rocksdb::LiveFileMetaData& file : live) {
    found.push_back({file.relative_filename, file.size, FileChecksumText(file.file_checksum)});
  }
  std::sort(found.begin(), found.end(),
            [](const SnapshotFile& a, const SnapshotFile& b) { return a.name < b.name; });
  std::vector<SnapshotFile> expected;
  std::copy_if(info.files.begin(), info.files.end(), std::back_inserter(expected),
               [](const SnapshotFile& file) { return IsTableName(file.name); });
  if (found == expected) return absl::OkStatus();
  return Damaged("its database consists of other tables than the manifest says");
}

OwnedSnapshotRecord Copy(const SnapshotRecord& record) {
  return {record.version, record.unconditional, record.expiry_unix_ms,
          std::string(AsText(record.key)), std::string(AsText(record.value))};
}

std::string Mismatch(std::string_view what, uint64_t found, uint64_t expected) {
  return std::string(what) + ": " + std::to_string(found) + ", the manifest says " +
         std::to_string(expected);
}

}  // namespace

void SnapshotTotals::Add(const SnapshotTotals& other) {
  entries += other.entries;
  records += other.records;
  expiring += other.expiring;
  bytes += other.bytes;
  highest_version = std::max(highest_version, other.highest_version);
}

struct SnapshotReader::Rep {
  Rep(std::string dir, const Options& options)
      : dir(std::move(dir)), options(options), engine(options.file_system, nullptr) {}

  absl::Status Open(uint64_t id);
  // Every record of an entry, checked; `use` is handed each.
  template <typename Use>
  absl::Status ReadEntry(uint64_t tag, Bytes entry, Use use) const;
  rocksdb::ReadOptions ScanOptions() const;

  const std::string dir;
  const Options options;
  const SnapshotEngine engine;
  SnapshotInfo info;
  std::unique_ptr<rocksdb::DB> db;
};

absl::Status SnapshotReader::Rep::Open(uint64_t id) {
  rocksdb::FileSystem& fs = engine.fs();
  DUNLIN_RETURN_IF_ERROR(ReadManifest(fs, dir, id, &info));
  DUNLIN_RETURN_IF_ERROR(CheckFileSizes(fs, dir, info));
  for (const SnapshotFile& file : info.files) {
    if (IsTableName(file.name)) continue;
    DUNLIN_RETURN_IF_ERROR(CheckFileContents(fs, dir, info, file, nullptr));
  }
  rocksdb::DB* opened = nullptr;
  DUNLIN_RETURN_IF_ROCKS_ERROR(rocksdb::DB::OpenForReadOnly(engine.Common(options.cache_bytes),
                                                            DatabasePath(dir, id), &opened),
                               "opening its database");
  db.reset(opened);
  return CompareFiles(*db, info);
}

template <typename Use>
absl::Status SnapshotReader::Rep::ReadEntry(uint64_t tag, Bytes entry, Use use) const {
  EntryReader reader(entry);
  SnapshotRecord record;
  while (reader.Next(&record)) {
    if (SnapshotTag(HashKey(record.key, info.hash_seed)) != tag) {
      return Damaged("the entry of tag " + std::to_string(tag) +
                     " has a record whose key has another tag");
    }
    DUNLIN_RETURN_IF_ERROR(use(record));
  }
  if (reader.error() == EntryError::kNone) return absl::OkStatus();
  return Damaged("the entry of tag " + std::to_string(tag) + " is " +
                 EntryErrorText(reader.error()));
}

rocksdb::ReadOptions SnapshotReader::Rep::ScanOptions() const {
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  read.fill_cache = false;
  read.readahead_size = options.readahead_bytes;
  return read;
}

SnapshotReader::SnapshotReader(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

SnapshotReader::~SnapshotReader() = default;

absl::StatusOr<std::unique_ptr<SnapshotReader>> SnapshotReader::Open(const std::string& dir,
                                                                     uint64_t id,
                                                                     const Options& options) {
  auto rep = std::make_unique<Rep>(dir, options);
  if (const absl::Status status = rep->Open(id); !status.ok()) {
    return absl::IsNotFound(status)
               ? status
               : WithContext(status, "snapshot " + std::to_string(id) + " can't be used");
  }
  return std::unique_ptr<SnapshotReader>(new SnapshotReader(std::move(rep)));
}

const SnapshotInfo& SnapshotReader::info() const { return rep_->info; }

absl::StatusOr<std::optional<OwnedSnapshotRecord>> SnapshotReader::Get(
    std::span<const std::byte> key) const {
  const uint64_t tag = SnapshotTag(HashKey(key, rep_->info.hash_seed));
  const SnapshotKey encoded = EncodeSnapshotKey(tag);
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  rocksdb::PinnableSlice entry;
  const rocksdb::Status status =
      rep_->db->Get(read, rep_->db->DefaultColumnFamily(),
                    rocksdb::Slice(encoded.data(), encoded.size()), &entry);
  std::optional<OwnedSnapshotRecord> found;
  if (status.IsNotFound()) return found;
  DUNLIN_RETURN_IF_ROCKS_ERROR(status, "reading snapshot " + std::to_string(rep_->info.id));
  DUNLIN_RETURN_IF_ERROR(rep_->ReadEntry(tag, BytesOf(entry), [&](const SnapshotRecord& record) {
    if (std::ranges::equal(record.key, key)) found = Copy(record);
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<SnapshotTotals> SnapshotReader::ForEach(uint64_t first_tag, uint64_t end_tag,
                                                       Callback callback) const {
  SnapshotTotals totals;
  end_tag = std::min(end_tag, kSnapshotTagEnd);
  if (first_tag >= end_tag) return totals;
  const SnapshotKey first = EncodeSnapshotKey(first_tag);
  // The end of all tags has no encoding.
  const SnapshotKey end = EncodeSnapshotKey(end_tag % kSnapshotTagEnd);
  const rocksdb::Slice bound(end.data(), end.size());
  rocksdb::ReadOptions read = rep_->ScanOptions();
  if (end_tag < kSnapshotTagEnd) read.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> at(rep_->db->NewIterator(read));
  for (at->Seek(rocksdb::Slice(first.data(), first.size())); at->Valid(); at->Next()) {
    const std::optional<uint64_t> tag = DecodeSnapshotKey({at->key().data(), at->key().size()});
    if (!tag) {
      return Damaged("the database has a key that is no tag: '" +
                     EscapeText({at->key().data(), at->key().size()}) + "'");
    }
    DUNLIN_RETURN_IF_ERROR(
        rep_->ReadEntry(*tag, BytesOf(at->value()), [&](const SnapshotRecord& record) {
          ++totals.records;
          totals.expiring += record.expiry_unix_ms.has_value();
          totals.bytes += record.key.size() + record.value.size();
          totals.highest_version = std::max(totals.highest_version, record.version);
          return callback(*tag, record);
        }));
    ++totals.entries;
  }
  DUNLIN_RETURN_IF_ROCKS_ERROR(at->status(), "reading snapshot " + std::to_string(rep_->info.id));
  return totals;
}

absl::Status SnapshotReader::CheckTotals(const SnapshotTotals& totals) const {
  const SnapshotCounts& counts = rep_->info.counts;
  const auto wrong = [&](std::string_view what, uint64_t found, uint64_t expected) {
    return Damaged("snapshot " + std::to_string(rep_->info.id) + " has a wrong number of " +
                   Mismatch(what, found, expected));
  };
  if (totals.records != counts.records) return wrong("records", totals.records, counts.records);
  // These a writer may leave open.
  if (counts.entries != 0 && totals.entries != counts.entries) {
    return wrong("entries", totals.entries, counts.entries);
  }
  if (counts.expiring != 0 && totals.expiring != counts.expiring) {
    return wrong("expiring records", totals.expiring, counts.expiring);
  }
  if (counts.bytes != 0 && totals.bytes != counts.bytes) {
    return wrong("bytes", totals.bytes, counts.bytes);
  }
  return absl::OkStatus();
}

absl::Status SnapshotReader::Verify(const Progress& progress) const {
  uint64_t total = rep_->info.counts.bytes + rep_->info.file_bytes();
  // About as much again is read as records.
  if (rep_->info.counts.bytes == 0) total *= 2;
  uint64_t done = 0;
  const auto advance = [&](uint64_t bytes) {
    done += bytes;
    if (progress) progress(done, total);
  };
  for (const SnapshotFile& file : rep_->info.files) {
    DUNLIN_RETURN_IF_ERROR(
        WithContext(CheckFileContents(rep_->engine.fs(), rep_->dir, rep_->info, file, advance),
                    "snapshot " + std::to_string(rep_->info.id)));
  }
  constexpr uint64_t kStep = uint64_t{1} << 20;
  uint64_t pending = 0;
  const absl::StatusOr<SnapshotTotals> totals =
      ForEach(0, kSnapshotTagEnd, [&](uint64_t, const SnapshotRecord& record) {
        pending += record.key.size() + record.value.size();
        if (pending >= kStep) advance(std::exchange(pending, 0));
        return absl::OkStatus();
      });
  DUNLIN_RETURN_IF_ERROR(totals);
  if (progress) progress(total, total);
  return CheckTotals(*totals);
}

}  // namespace dunlin
