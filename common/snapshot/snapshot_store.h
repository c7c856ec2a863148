#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/layout/superblock.h"
#include "common/snapshot/manifest.h"
#include "common/snapshot/snapshot_directory.h"

namespace dunlin {

// Writes snapshots into a directory (docs/snapshots.md says what is in it and when). One object a
// directory, in all processes; used by one thread at a time.
//
//   Open; StartFrom; then for each snapshot BeginPass, Put and Delete by increasing tag, Commit.
//
// A snapshot exists when Commit has returned OK, and then survives the loss of power. Whatever
// fails, and wherever the process ends, the snapshots before are as they were; the next BeginPass
// makes good for the failed pass. Statuses: ResourceExhausted for a full disk, Unavailable for
// other I/O errors, DataLoss for damage, FailedPrecondition for a directory that isn't ours to
// write.
//
// Memory: less than 48 MiB, whatever the number of records.
class SnapshotStore {
 public:
  struct Options {
    std::string dir;
    uint32_t retain = 2;         // snapshots that Retain() leaves, at least 1
    uint64_t new_hash_seed = 0;  // what a new directory gets
    uint32_t layout_version = kLayoutVersion;
    std::string release;                        // for the manifests; one line
    uint64_t table_bytes = uint64_t{64} << 20;  // a file of a pass; larger if one entry is
    // What the database may write when it merges files in the background, from 1 MiB to 1 TiB; it
    // takes more if it would fall behind.
    uint64_t merge_bytes_per_second = uint64_t{64} << 20;
    // Told what the store removed, and what RocksDB takes for an error. Called by RocksDB's
    // threads, too.
    std::function<void(std::string_view)> warn;
    SnapshotFileSystem file_system;  // null: the host's
  };

  // Creates the directory if there is none (its parent must exist), takes its lock and removes what
  // a crash left behind. FailedPrecondition: another process has it (the message says which), or it
  // is foreign. DataLoss: FORMAT is damaged.
  static absl::StatusOr<std::unique_ptr<SnapshotStore>> Open(const Options& options);
  ~SnapshotStore();
  SnapshotStore(const SnapshotStore&) = delete;
  SnapshotStore& operator=(const SnapshotStore&) = delete;

  // The seed of all hashes in this directory, for good.
  uint64_t hash_seed() const;

  absl::StatusOr<SnapshotListing> List() const;

  // What the next pass is based on: snapshot `id`, or nothing. Ends a pass under way.
  absl::Status StartFrom(std::optional<uint64_t> id);

  // `full`: what follows is everything there is, and the base doesn't count. Otherwise it is what
  // has changed since the base: the last snapshot that Commit made, or StartFrom's. Ends a pass
  // under way. May wait for the database's merging if that has fallen far behind. REQUIRES (else
  // FailedPrecondition): a StartFrom that succeeded, unless `full`.
  absl::Status BeginPass(bool full);

  // The whole entry of `tag` from now on; `entry` is copied. Tags increase strictly over a pass's
  // Puts and Deletes (else InvalidArgument). After an error the pass can only be aborted.
  absl::Status Put(uint64_t tag, std::span<const std::byte> entry);
  absl::Status Delete(uint64_t tag);
  // From here on tags may begin anew, and what comes later counts.
  absl::Status BeginLayer();

  // Makes the snapshot. On an error there is none, and the next pass has the same base as this one.
  absl::StatusOr<SnapshotInfo> Commit(const SnapshotCounts& counts);

  // Forgets the pass; its base stays what it was.
  void Abort();

  // Removes a snapshot. FailedPrecondition: the newest usable one, or the base of the next pass.
  absl::Status DeleteSnapshot(uint64_t id);

  // Deletes all but the newest `retain` usable snapshots, and what is unusable and older than
  // those. Leaves damaged ones newer than these for somebody to look at.
  absl::Status Retain();

 private:
  struct Rep;
  explicit SnapshotStore(std::unique_ptr<Rep> rep);

  std::unique_ptr<Rep> rep_;
};

}  // namespace dunlin
