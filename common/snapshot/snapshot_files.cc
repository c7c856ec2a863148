#include "common/snapshot/snapshot_files.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <vector>

#include "common/base/status.h"
#include "common/snapshot/directory_names.h"
#include "common/snapshot/file_checksum.h"
#include "common/snapshot/file_steps.h"

namespace dunlin {
namespace {

absl::Status Damaged(const std::string& why) {
  return MakeStatus(absl::StatusCode::kDataLoss, why);
}

}  // namespace

std::string SnapshotPath(const std::string& dir, uint64_t id) {
  return Join(dir, SnapshotName(id));
}

std::string DatabasePath(const std::string& dir, uint64_t id) {
  return Join(SnapshotPath(dir, id), kDatabaseName);
}

bool IsTableName(std::string_view name) { return name.ends_with(".sst"); }

absl::Status ReadManifest(rocksdb::FileSystem& fs, const std::string& dir, uint64_t id,
                          SnapshotInfo* info) {
  const std::string folder = SnapshotPath(dir, id);
  const absl::StatusOr<std::string> text =
      ReadSmallFile(fs, Join(folder, kManifestName), kMaxManifestBytes);
  if (absl::IsNotFound(text.status())) {
    DUNLIN_ASSIGN_OR_RETURN(const bool exists, PathExists(fs, folder));
    if (exists) return Damaged("its manifest is missing");
    return MakeStatus(absl::StatusCode::kNotFound,
                      "there is no snapshot " + std::to_string(id) + " in '" + dir + "'");
  }
  DUNLIN_RETURN_IF_ERROR(text);
  absl::StatusOr<SnapshotInfo> parsed = ParseManifest(*text);
  DUNLIN_RETURN_IF_ERROR(parsed);
  if (parsed->id != id) {
    return Damaged("its manifest is that of snapshot " + std::to_string(parsed->id));
  }
  *info = *std::move(parsed);
  return absl::OkStatus();
}

absl::Status CheckFileSizes(rocksdb::FileSystem& fs, const std::string& dir,
                            const SnapshotInfo& info) {
  const std::string folder = DatabasePath(dir, info.id);
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(fs, folder);
  if (absl::IsNotFound(names.status())) return Damaged("its folder 'db' is missing");
  DUNLIN_RETURN_IF_ERROR(names);
  for (const SnapshotFile& file : info.files) {
    if (!std::binary_search(names->begin(), names->end(), file.name)) {
      return Damaged("its file '" + file.name + "' is missing");
    }
    DUNLIN_ASSIGN_OR_RETURN(const uint64_t bytes, FileBytes(fs, Join(folder, file.name)));
    if (bytes != file.bytes) {
      return Damaged("its file '" + file.name + "' has " + std::to_string(bytes) +
                     " bytes; the manifest says " + std::to_string(file.bytes));
    }
  }
  if (names->size() != info.files.size()) {
    return Damaged("its folder 'db' has " + std::to_string(names->size()) +
                   " files; the manifest says " + std::to_string(info.files.size()));
  }
  return absl::OkStatus();
}

absl::Status CheckFileContents(rocksdb::FileSystem& fs, const std::string& dir,
                               const SnapshotInfo& info, const SnapshotFile& file,
                               const std::function<void(uint64_t bytes)>& progress) {
  FileChecksum checksum;
  DUNLIN_RETURN_IF_ERROR(ReadFileTo(fs, Join(DatabasePath(dir, info.id), file.name), file.bytes,
                                    [&](std::string_view piece) {
                                      checksum.Update(piece);
                                      if (progress) progress(piece.size());
                                      return absl::OkStatus();
                                    }));
  if (checksum.Finish() == file.checksum) return absl::OkStatus();
  return Damaged("its file '" + file.name + "' doesn't match its checksum in the manifest");
}

}  // namespace dunlin
