#include "common/snapshot/snapshot_directory.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/snapshot/directory_names.h"
#include "common/snapshot/file_steps.h"
#include "common/snapshot/snapshot_files.h"

namespace dunlin {
namespace {

std::string Shorten(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 3; ++i) {
    text += (i == 0 ? "'" : ", '") + EscapeText(names[i]) + "'";
  }
  return names.size() > 3 ? text + ", ..." : text;
}

// Everything but the snapshots: what kind of directory it is.
absl::Status Classify(rocksdb::FileSystem& fs, const std::string& dir,
                      const std::vector<std::string>& names, SnapshotListing* listing) {
  if (std::binary_search(names.begin(), names.end(), kFormatName)) {
    const std::string path = Join(dir, kFormatName);
    absl::StatusOr<std::string> text = ReadSmallFile(fs, path, kMaxFormatBytes);
    if (!text.ok() && !absl::IsDataLoss(text.status())) return text.status();
    absl::StatusOr<DirectoryFormat> format =
        text.ok() ? ParseFormat(*text) : absl::StatusOr<DirectoryFormat>(text.status());
    if (!format.ok()) {
      listing->state = DirectoryState::kDamaged;
      listing->why = FromAbsl(format.status().message());
      return absl::OkStatus();
    }
    listing->state = DirectoryState::kGood;
    listing->hash_seed = format->hash_seed;
    listing->store_id = std::move(format->store_id);
    return absl::OkStatus();
  }
  std::vector<std::string> others;
  bool ours = false;
  for (const std::string& name : names) {
    if (ParseSnapshotName(name)) ours = true;
    if (!MayPrecedeFormat(name)) others.push_back(name);
  }
  if (others.empty()) {
    listing->state = DirectoryState::kEmpty;
  } else if (ours) {
    listing->state = DirectoryState::kDamaged;
    listing->why = "there are snapshots but no FORMAT; put that back, or copy the snapshots away";
  } else {
    listing->state = DirectoryState::kForeign;
    listing->why = "it holds something else: " + Shorten(others);
  }
  return absl::OkStatus();
}

}  // namespace

const ListedSnapshot* SnapshotListing::NewestUsable() const {
  for (const ListedSnapshot& snapshot : snapshots) {
    if (snapshot.usable()) return &snapshot;
  }
  return nullptr;
}

const ListedSnapshot* SnapshotListing::Find(uint64_t id) const {
  for (const ListedSnapshot& snapshot : snapshots) {
    if (snapshot.id == id) return &snapshot;
  }
  return nullptr;
}

absl::StatusOr<SnapshotListing> ListSnapshots(const std::string& dir,
                                              const SnapshotFileSystem& file_system) {
  const SnapshotFileSystem owner = OrHostFileSystem(file_system);
  rocksdb::FileSystem& fs = *owner;
  SnapshotListing listing;
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(fs, dir);
  if (absl::IsNotFound(names.status())) return listing;
  DUNLIN_RETURN_IF_ERROR(names);
  DUNLIN_RETURN_IF_ERROR(Classify(fs, dir, *names, &listing));
  if (listing.state != DirectoryState::kGood && listing.state != DirectoryState::kDamaged) {
    return listing;
  }
  for (const std::string& name : *names) {
    const std::optional<SnapshotNameParts> parts = ParseSnapshotName(name);
    if (!parts || !parts->suffix.empty()) continue;
    ListedSnapshot snapshot;
    snapshot.id = parts->id;
    snapshot.status = ReadManifest(fs, dir, parts->id, &snapshot.info);
    if (snapshot.status.ok()) snapshot.status = CheckFileSizes(fs, dir, snapshot.info);
    if (snapshot.status.ok() && listing.state == DirectoryState::kGood &&
        snapshot.info.hash_seed != listing.hash_seed) {
      snapshot.status = MakeStatus(absl::StatusCode::kDataLoss,
                                   "it is of another directory: its hash seed is not FORMAT's");
    }
    if (!snapshot.usable()) {
      // It may have been deleted since.
      DUNLIN_ASSIGN_OR_RETURN(const bool still_there, PathExists(fs, Join(dir, name)));
      if (!still_there) continue;
    }
    listing.snapshots.push_back(std::move(snapshot));
  }
  std::reverse(listing.snapshots.begin(), listing.snapshots.end());
  return listing;
}

}  // namespace dunlin
