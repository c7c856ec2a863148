#include "common/snapshot/live_database.h"

#include <rocksdb/file_system.h>
#include <rocksdb/listener.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/base/sync.h"
#include "common/snapshot/file_checksum.h"
#include "common/snapshot/file_steps.h"
#include "common/snapshot/rocksdb_status.h"

namespace dunlin {
namespace {

// Tables that overlap each other. Reading has to merge them, and merging them in the background
// needs a buffer for each, so their number bounds memory as well.
constexpr uint64_t kHurryTables = 24;
constexpr uint64_t kWaitTables = 48;
constexpr uint64_t kRefuseTables = 192;
constexpr uint64_t kHurryFactor = 16;
constexpr std::chrono::milliseconds kLongestWait{2000};

bool IsTable(std::string_view name) { return name.ends_with(".sst"); }

absl::Status Replace(rocksdb::FileSystem& fs, const std::string& path) {
  DUNLIN_RETURN_IF_ERROR(RemoveFolder(fs, path));
  return MakeFolder(fs, path);
}

}  // namespace

// Counts the merges that have ended, so that somebody can wait for the next.
class LiveDatabase::Merges : public rocksdb::EventListener {
 public:
  uint64_t ended() {
    const MutexLock lock(mutex_);
    return ended_;
  }

  // False if none has ended beyond `seen` within the time.
  bool WaitBeyond(uint64_t seen, std::chrono::steady_clock::time_point until) {
    const MutexLock lock(mutex_);
    while (ended_ <= seen) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      changed_.WaitFor(mutex_, left);
    }
    return true;
  }

  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    const MutexLock lock(mutex_);
    ++ended_;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  uint64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
};

LiveDatabase::LiveDatabase(const SnapshotEngine& engine, const Settings& settings)
    : engine_(engine),
      settings_(settings),
      merges_(std::make_shared<Merges>()),
      limiter_(
          rocksdb::NewGenericRateLimiter(static_cast<int64_t>(settings.merge_bytes_per_second))) {}

LiveDatabase::~LiveDatabase() = default;

absl::StatusOr<std::unique_ptr<LiveDatabase>> LiveDatabase::CreateEmpty(
    const SnapshotEngine& engine, const Settings& settings) {
  DUNLIN_RETURN_IF_ERROR(Replace(engine.fs(), settings.path));
  std::unique_ptr<LiveDatabase> live(new LiveDatabase(engine, settings));
  DUNLIN_RETURN_IF_ERROR(live->Open(true));
  return live;
}

absl::StatusOr<std::unique_ptr<LiveDatabase>> LiveDatabase::CreateFrom(
    const SnapshotEngine& engine, const Settings& settings, const std::string& from,
    const std::vector<SnapshotFile>& files) {
  rocksdb::FileSystem& fs = engine.fs();
  DUNLIN_RETURN_IF_ERROR(Replace(fs, settings.path));
  for (const SnapshotFile& file : files) {
    const std::string source = from + "/" + file.name;
    const std::string target = settings.path + "/" + file.name;
    if (IsTable(file.name)) {
      DUNLIN_RETURN_IF_ERROR(LinkOrCopyFile(fs, source, target));
      continue;
    }
    DUNLIN_ASSIGN_OR_RETURN(const std::string checksum,
                            CopyFile(fs, source, target, file.bytes, Durable::kNo));
    if (checksum != file.checksum) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "'" + source + "' doesn't match its checksum in the manifest");
    }
  }
  std::unique_ptr<LiveDatabase> live(new LiveDatabase(engine, settings));
  DUNLIN_RETURN_IF_ERROR(live->Open(false));
  return live;
}

absl::Status LiveDatabase::Open(bool create) {
  rocksdb::Options options = engine_.Live(settings_.table_bytes, settings_.cache_bytes);
  options.create_if_missing = create;
  options.error_if_exists = create;
  options.rate_limiter = limiter_;
  options.listeners.push_back(merges_);
  // Merging never matters as much as what the server does on the same processors.
  options.env->LowerThreadPoolCPUPriority(rocksdb::Env::LOW, rocksdb::CpuPriority::kLow);
  rocksdb::DB* db = nullptr;
  DUNLIN_RETURN_IF_ROCKS_ERROR(rocksdb::DB::Open(options, settings_.path, &db),
                               "opening the database in '" + settings_.path + "'");
  db_.reset(db);
  return absl::OkStatus();
}

absl::Status LiveDatabase::Add(const std::vector<PassTable>& tables) {
  if (tables.empty()) return absl::OkStatus();
  rocksdb::IngestExternalFileArg argument;
  argument.column_family = db_->DefaultColumnFamily();
  argument.options.move_files = true;
  argument.options.write_global_seqno = false;
  // The writer has just computed them, over what it wrote.
  argument.options.verify_file_checksum = false;
  struct Forget {
    RememberingFileSystem& memory;
    ~Forget() { memory.ForgetAll(); }
  } const forget{engine_.memory()};
  for (const PassTable& table : tables) {
    argument.external_files.push_back(table.path);
    argument.files_checksums.push_back(table.checksum);
    argument.files_checksum_func_names.emplace_back(FileChecksumName());
    DUNLIN_RETURN_IF_ERROR(Rehearse(table));
  }
  DUNLIN_RETURN_IF_ROCKS_ERROR(
      db_->IngestExternalFiles({argument}),
      "adding " + std::to_string(tables.size()) + " tables to '" + settings_.path + "'");
  return CheckAdded(tables);
}

// RocksDB 7.8 reads the first and the last block of a table that it takes in. When the one read
// fails, it takes the table for empty and finds nothing in it any more; when the other fails, it
// aborts the process. So they are read here before, with a look at the outcome, and then come from
// memory.
absl::Status LiveDatabase::Rehearse(const PassTable& table) {
  rocksdb::SstFileReader reader(engine_.Live(settings_.table_bytes, settings_.cache_bytes));
  DUNLIN_RETURN_IF_ROCKS_ERROR(reader.Open(table.path), "opening '" + table.path + "'");
  // Deletions are passed over: the bounds keep that from going far.
  const std::string beyond_first = table.smallest_key + '\0';
  const rocksdb::Slice upper(beyond_first);
  const rocksdb::Slice lower(table.largest_key);
  for (const bool first : {true, false}) {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    if (first) {
      read.iterate_upper_bound = &upper;
    } else {
      read.iterate_lower_bound = &lower;
    }
    const std::unique_ptr<rocksdb::Iterator> at(reader.NewIterator(read));
    engine_.memory().KeepNextRead(table.path);
    if (first) {
      at->SeekToFirst();
    } else {
      at->SeekToLast();
    }
    DUNLIN_RETURN_IF_ROCKS_ERROR(at->status(), "reading '" + table.path + "'");
  }
  return absl::OkStatus();
}

// A block too large to be kept in memory is read once more, so the first of the two may happen
// after all. A table that isn't there any more has been merged by now, so it was whole.
absl::Status LiveDatabase::CheckAdded(const std::vector<PassTable>& tables) const {
  std::vector<rocksdb::LiveFileMetaData> live;
  db_->GetLiveFilesMetaData(&live);
  std::unordered_map<std::string_view, const PassTable*> by_checksum;
  for (const PassTable& table : tables) by_checksum[table.checksum] = &table;
  for (const rocksdb::LiveFileMetaData& file : live) {
    const auto found = by_checksum.find(file.file_checksum);
    if (found == by_checksum.end()) continue;
    if (file.smallestkey != found->second->smallest_key ||
        file.largestkey != found->second->largest_key) {
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "'" + found->second->path + "' could not be read back when it was added");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SnapshotFile>> LiveDatabase::CopyTo(const std::string& to) {
  DUNLIN_RETURN_IF_ROCKS_ERROR(db_->DisableFileDeletions(),
                               "holding the files of '" + settings_.path + "'");
  struct Release {
    rocksdb::DB* db;
    // A failure leaves files too many in a folder that is made anew anyway.
    ~Release() { db->EnableFileDeletions(/*force=*/false).PermitUncheckedError(); }
  } const release{db_.get()};

  rocksdb::LiveFilesStorageInfoOptions wanted;
  wanted.include_checksum_info = true;
  wanted.wal_size_for_flush = std::numeric_limits<uint64_t>::max();  // there is nothing to flush
  std::vector<rocksdb::LiveFileStorageInfo> live;
  DUNLIN_RETURN_IF_ROCKS_ERROR(db_->GetLiveFilesStorageInfo(wanted, &live),
                               "listing the files of '" + settings_.path + "'");
  std::vector<SnapshotFile> files;
  for (const rocksdb::LiveFileStorageInfo& file : live) {
    // The first is empty, and the second says what Live() says anyway.
    if (file.file_type == rocksdb::kWalFile || file.file_type == rocksdb::kOptionsFile) continue;
    DUNLIN_ASSIGN_OR_RETURN(files.emplace_back(), CopyOne(file, to));
  }
  DUNLIN_RETURN_IF_ERROR(SyncFolder(engine_.fs(), to));
  std::sort(files.begin(), files.end(),
            [](const SnapshotFile& a, const SnapshotFile& b) { return a.name < b.name; });
  return files;
}

absl::StatusOr<SnapshotFile> LiveDatabase::CopyOne(const rocksdb::LiveFileStorageInfo& file,
                                                   const std::string& to) {
  rocksdb::FileSystem& fs = engine_.fs();
  SnapshotFile copy;
  copy.name = file.relative_filename;
  copy.bytes = file.size;
  const std::string source = file.directory + "/" + file.relative_filename;
  const std::string target = to + "/" + file.relative_filename;
  switch (file.file_type) {
    case rocksdb::kTableFile:
      if (file.file_checksum_func_name != FileChecksumName()) {
        return MakeStatus(absl::StatusCode::kInternal,
                          "RocksDB has a checksum '" + file.file_checksum_func_name + "' of '" +
                              source + "'; expected '" + std::string(FileChecksumName()) + "'");
      }
      copy.checksum = FileChecksumText(file.file_checksum);
      DUNLIN_RETURN_IF_ERROR(LinkOrCopyFile(fs, source, target));
      return copy;
    case rocksdb::kCurrentFile: {
      copy.bytes = file.replacement_contents.size();
      FileChecksum checksum;
      checksum.Update(file.replacement_contents);
      copy.checksum = checksum.Finish();
      DUNLIN_RETURN_IF_ERROR(WriteNewFile(fs, target, file.replacement_contents, Durable::kYes));
      return copy;
    }
    case rocksdb::kDescriptorFile: {
      DUNLIN_ASSIGN_OR_RETURN(copy.checksum,
                              CopyFile(fs, source, target, file.size, Durable::kYes));
      return copy;
    }
    default:
      return MakeStatus(absl::StatusCode::kInternal,
                        "RocksDB has a file that a snapshot can't have: '" + source + "'");
  }
}

absl::Status LiveDatabase::Health() const {
  uint64_t errors = 0;
  if (!db_->GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, &errors)) {
    return MakeStatus(absl::StatusCode::kInternal, "RocksDB doesn't count its errors");
  }
  if (errors == 0) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "merging tables in '" + settings_.path + "' has failed");
}

uint64_t LiveDatabase::UnmergedTables() const {
  std::string text;
  const std::string level0 = rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0";
  return db_->GetProperty(level0, &text) ? std::strtoull(text.c_str(), nullptr, 10) : 0;
}

absl::Status LiveDatabase::WaitForMerging() {
  const bool hurry = UnmergedTables() >= kHurryTables;
  limiter_->SetBytesPerSecond(static_cast<int64_t>(settings_.merge_bytes_per_second) *
                              static_cast<int64_t>(hurry ? kHurryFactor : 1));
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  for (;;) {
    const uint64_t seen = merges_->ended();
    const uint64_t tables = UnmergedTables();
    if (tables < kWaitTables || !Health().ok()) return Health();
    if (merges_->WaitBeyond(seen, until)) continue;
    if (tables < kRefuseTables) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                      "merging is " + std::to_string(tables) + " tables behind in '" +
                          settings_.path +
                          "': the disk is slower than what changes; snapshots have to be rarer");
  }
}

}  // namespace dunlin
