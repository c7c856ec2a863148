#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/snapshot/manifest.h"

namespace rocksdb {
class FileSystem;
}

namespace dunlin {

// The file system through which all of a snapshot directory but its lock is read and written. Null
// stands for the host's own. Tests pass one that fails.
using SnapshotFileSystem = std::shared_ptr<rocksdb::FileSystem>;

enum class DirectoryState : uint8_t {
  kAbsent,   // no such directory
  kEmpty,    // nothing in it (of ours or anybody's)
  kForeign,  // somebody else's files, and no sign of a snapshot directory: never written to
  kDamaged,  // a snapshot directory whose FORMAT is missing or can't be read
  kGood,
};

struct ListedSnapshot {
  uint64_t id = 0;
  absl::Status status;  // OK: manifest and files are there, and the files have the right sizes
  SnapshotInfo info;    // only if the manifest could be read

  bool usable() const { return status.ok(); }
};

struct SnapshotListing {
  DirectoryState state = DirectoryState::kAbsent;
  std::string why;                        // kForeign, kDamaged: what was found
  uint64_t hash_seed = 0;                 // kGood
  std::string store_id;                   // kGood
  std::vector<ListedSnapshot> snapshots;  // newest first, also where FORMAT is damaged

  // Null if there is none.
  const ListedSnapshot* NewestUsable() const;
  const ListedSnapshot* Find(uint64_t id) const;
};

// What is in `dir`. Takes no lock and changes nothing, so it may be called while a server writes
// there; a snapshot that goes away meanwhile is left out. Reads the manifests and the sizes of the
// files, not their contents (SnapshotReader). An error means that the directory itself can't be
// read.
absl::StatusOr<SnapshotListing> ListSnapshots(const std::string& dir,
                                              const SnapshotFileSystem& file_system = nullptr);

}  // namespace dunlin
