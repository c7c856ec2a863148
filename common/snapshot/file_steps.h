#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/snapshot/snapshot_directory.h"

namespace dunlin {

// What we do with files beside RocksDB, each through the file system that RocksDB uses, so that a
// test can make any step fail. Errors name the path.

// `file_system`, or the host's if it is null.
SnapshotFileSystem OrHostFileSystem(const SnapshotFileSystem& file_system);

// NotFound if `dir` doesn't exist.
absl::StatusOr<std::vector<std::string>> ListFolder(rocksdb::FileSystem& fs,
                                                    const std::string& dir);

absl::StatusOr<bool> PathExists(rocksdb::FileSystem& fs, const std::string& path);

absl::StatusOr<uint64_t> FileBytes(rocksdb::FileSystem& fs, const std::string& path);

// Hands the first `bytes` of the file to `sink`, piece by piece; DataLoss if it is shorter.
absl::Status ReadFileTo(rocksdb::FileSystem& fs, const std::string& path, uint64_t bytes,
                        const std::function<absl::Status(std::string_view piece)>& sink);

// The contents of a file of at most `limit` bytes; DataLoss if it is longer.
absl::StatusOr<std::string> ReadSmallFile(rocksdb::FileSystem& fs, const std::string& path,
                                          uint64_t limit);

enum class Durable : bool { kNo, kYes };

// A new file. With Durable::kYes its contents, but not its name, then survive a loss of power.
absl::Status WriteNewFile(rocksdb::FileSystem& fs, const std::string& path,
                          std::string_view contents, Durable durable);

// Copies the first `bytes` and says their checksum (file_checksum.h).
absl::StatusOr<std::string> CopyFile(rocksdb::FileSystem& fs, const std::string& from,
                                     const std::string& to, uint64_t bytes, Durable durable);

// A second name for the file, or, where the file system has none, a copy.
absl::Status LinkOrCopyFile(rocksdb::FileSystem& fs, const std::string& from,
                            const std::string& to);

absl::Status MakeFolder(rocksdb::FileSystem& fs, const std::string& path);

// Makes the names in the folder survive a loss of power.
absl::Status SyncFolder(rocksdb::FileSystem& fs, const std::string& path);

absl::Status RenamePath(rocksdb::FileSystem& fs, const std::string& from, const std::string& to);

// With everything in it; fine if it doesn't exist. Goes on after an error, and returns the first.
absl::Status RemoveFolder(rocksdb::FileSystem& fs, const std::string& path);

absl::Status RemoveFile(rocksdb::FileSystem& fs, const std::string& path);

}  // namespace dunlin
