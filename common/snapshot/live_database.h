#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/snapshot/database_options.h"
#include "common/snapshot/manifest.h"
#include "common/snapshot/pass_writer.h"

namespace dunlin {

// The database that passes are added to and snapshots are made of. Nothing relies on its surviving
// a crash. One thread at a time.
class LiveDatabase {
 public:
  struct Settings {
    std::string path;
    uint64_t table_bytes = 0;
    size_t cache_bytes = 0;
    uint64_t merge_bytes_per_second = 0;
  };

  // A new, empty database in place of what may be there.
  static absl::StatusOr<std::unique_ptr<LiveDatabase>> CreateEmpty(const SnapshotEngine& engine,
                                                                   const Settings& settings);

  // One with the contents of the database in `from`, whose files are `files`, in place of what may
  // be there. Shares the tables with it.
  static absl::StatusOr<std::unique_ptr<LiveDatabase>> CreateFrom(
      const SnapshotEngine& engine, const Settings& settings, const std::string& from,
      const std::vector<SnapshotFile>& files);

  ~LiveDatabase();

  // Adds all tables or none, which are gone from where they were afterwards.
  absl::Status Add(const std::vector<PassTable>& tables);

  // Writes a database with these contents into the folder `to`, which is there and empty. The
  // files, their contents and names, then survive a loss of power. Shares the tables with it.
  absl::StatusOr<std::vector<SnapshotFile>> CopyTo(const std::string& to);

  // What failed in the background, if anything has.
  absl::Status Health() const;

  // Waits, but not for long, for merging that has fallen far behind. DeadlineExceeded: it is so far
  // behind that another pass must not be added.
  absl::Status WaitForMerging();

 private:
  class Merges;

  LiveDatabase(const SnapshotEngine& engine, const Settings& settings);
  absl::Status Open(bool create);
  absl::Status Rehearse(const PassTable& table);
  absl::Status CheckAdded(const std::vector<PassTable>& tables) const;
  uint64_t UnmergedTables() const;
  absl::StatusOr<SnapshotFile> CopyOne(const rocksdb::LiveFileStorageInfo& file,
                                       const std::string& to);

  const SnapshotEngine& engine_;
  const Settings settings_;
  const std::shared_ptr<Merges> merges_;
  std::shared_ptr<rocksdb::RateLimiter> limiter_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace dunlin
