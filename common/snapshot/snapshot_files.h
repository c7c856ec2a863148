#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/snapshot/manifest.h"
#include "common/snapshot/snapshot_directory.h"

namespace dunlin {

// The files of one snapshot as they lie on the disk, against its manifest.

std::string SnapshotPath(const std::string& dir, uint64_t id);
std::string DatabasePath(const std::string& dir, uint64_t id);

// Tables are large, and checked block by block while they are read.
bool IsTableName(std::string_view name);

// Fills in `info` as soon as the manifest is whole. NotFound: no such snapshot; DataLoss,
// Unimplemented: what is wrong with its manifest.
absl::Status ReadManifest(rocksdb::FileSystem& fs, const std::string& dir, uint64_t id,
                          SnapshotInfo* info);

// DataLoss: a file is missing, has another size, or is one too many.
absl::Status CheckFileSizes(rocksdb::FileSystem& fs, const std::string& dir,
                            const SnapshotInfo& info);

// DataLoss: the contents of a file are not those that were written. `progress` is told of the bytes
// as they are read.
absl::Status CheckFileContents(rocksdb::FileSystem& fs, const std::string& dir,
                               const SnapshotInfo& info, const SnapshotFile& file,
                               const std::function<void(uint64_t bytes)>& progress);

}  // namespace dunlin
