#include "common/snapshot/file_steps.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <memory>

#include "common/snapshot/file_checksum.h"
#include "common/snapshot/rocksdb_status.h"

namespace dunlin {
namespace {

using rocksdb::IOStatus;

constexpr size_t kPiece = size_t{256} << 10;

absl::StatusOr<std::unique_ptr<rocksdb::FSWritableFile>> Create(rocksdb::FileSystem& fs,
                                                                const std::string& path) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  DUNLIN_RETURN_IF_ROCKS_ERROR(fs.NewWritableFile(path, {}, &file, nullptr),
                               "creating '" + path + "'");
  return file;
}

absl::Status Finish(rocksdb::FSWritableFile& file, const std::string& path, Durable durable) {
  DUNLIN_RETURN_IF_ROCKS_ERROR(file.Flush({}, nullptr), "writing '" + path + "'");
  if (durable == Durable::kYes) {
    DUNLIN_RETURN_IF_ROCKS_ERROR(file.Fsync({}, nullptr), "syncing '" + path + "'");
  }
  DUNLIN_RETURN_IF_ROCKS_ERROR(file.Close({}, nullptr), "closing '" + path + "'");
  return absl::OkStatus();
}

}  // namespace

SnapshotFileSystem OrHostFileSystem(const SnapshotFileSystem& file_system) {
  return file_system != nullptr ? file_system : rocksdb::FileSystem::Default();
}

absl::StatusOr<std::vector<std::string>> ListFolder(rocksdb::FileSystem& fs,
                                                    const std::string& dir) {
  std::vector<std::string> names;
  DUNLIN_RETURN_IF_ROCKS_ERROR(fs.GetChildren(dir, {}, &names, nullptr), "listing '" + dir + "'");
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<bool> PathExists(rocksdb::FileSystem& fs, const std::string& path) {
  const IOStatus status = fs.FileExists(path, {}, nullptr);
  if (status.ok()) return true;
  if (status.IsNotFound()) return false;
  return FromRocks(status, "looking for '" + path + "'");
}

absl::StatusOr<uint64_t> FileBytes(rocksdb::FileSystem& fs, const std::string& path) {
  uint64_t bytes = 0;
  DUNLIN_RETURN_IF_ROCKS_ERROR(fs.GetFileSize(path, {}, &bytes, nullptr),
                               "looking at '" + path + "'");
  return bytes;
}

absl::Status ReadFileTo(rocksdb::FileSystem& fs, const std::string& path, uint64_t bytes,
                        const std::function<absl::Status(std::string_view piece)>& sink) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  DUNLIN_RETURN_IF_ROCKS_ERROR(fs.NewSequentialFile(path, {}, &file, nullptr),
                               "opening '" + path + "'");
  const std::unique_ptr<char[]> buffer(new char[std::min<uint64_t>(bytes, kPiece)]);
  for (uint64_t left = bytes; left > 0;) {
    rocksdb::Slice piece;
    DUNLIN_RETURN_IF_ROCKS_ERROR(
        file->Read(std::min<uint64_t>(left, kPiece), {}, &piece, buffer.get(), nullptr),
        "reading '" + path + "'");
    if (piece.empty()) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "'" + path + "' should have " + std::to_string(bytes) +
                            " bytes, and ends after " + std::to_string(bytes - left));
    }
    DUNLIN_RETURN_IF_ERROR(sink({piece.data(), piece.size()}));
    left -= piece.size();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadSmallFile(rocksdb::FileSystem& fs, const std::string& path,
                                          uint64_t limit) {
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t bytes, FileBytes(fs, path));
  if (bytes > limit) {
    return MakeStatus(absl::StatusCode::kDataLoss, "'" + path + "' has " + std::to_string(bytes) +
                                                       " bytes; expected at most " +
                                                       std::to_string(limit));
  }
  std::string contents;
  DUNLIN_RETURN_IF_ERROR(ReadFileTo(fs, path, bytes, [&](std::string_view piece) {
    contents.append(piece);
    return absl::OkStatus();
  }));
  return contents;
}

absl::Status WriteNewFile(rocksdb::FileSystem& fs, const std::string& path,
                          std::string_view contents, Durable durable) {
  DUNLIN_ASSIGN_OR_RETURN(const auto file, Create(fs, path));
  DUNLIN_RETURN_IF_ROCKS_ERROR(
      file->Append(rocksdb::Slice(contents.data(), contents.size()), {}, nullptr),
      "writing '" + path + "'");
  return Finish(*file, path, durable);
}

absl::StatusOr<std::string> CopyFile(rocksdb::FileSystem& fs, const std::string& from,
                                     const std::string& to, uint64_t bytes, Durable durable) {
  DUNLIN_ASSIGN_OR_RETURN(const auto file, Create(fs, to));
  FileChecksum checksum;
  DUNLIN_RETURN_IF_ERROR(ReadFileTo(fs, from, bytes, [&](std::string_view piece) -> absl::Status {
    checksum.Update(piece);
    DUNLIN_RETURN_IF_ROCKS_ERROR(
        file->Append(rocksdb::Slice(piece.data(), piece.size()), {}, nullptr),
        "writing '" + to + "'");
    return absl::OkStatus();
  }));
  DUNLIN_RETURN_IF_ERROR(Finish(*file, to, durable));
  return checksum.Finish();
}

absl::Status LinkOrCopyFile(rocksdb::FileSystem& fs, const std::string& from,
                            const std::string& to) {
  const IOStatus status = fs.LinkFile(from, to, {}, nullptr);
  if (!status.IsNotSupported()) {
    return FromRocks(status, "linking '" + from + "' as '" + to + "'");
  }
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t bytes, FileBytes(fs, from));
  return CopyFile(fs, from, to, bytes, Durable::kYes).status();
}

absl::Status MakeFolder(rocksdb::FileSystem& fs, const std::string& path) {
  return FromRocks(fs.CreateDir(path, {}, nullptr), "creating the folder '" + path + "'");
}

absl::Status SyncFolder(rocksdb::FileSystem& fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSDirectory> folder;
  DUNLIN_RETURN_IF_ROCKS_ERROR(fs.NewDirectory(path, {}, &folder, nullptr),
                               "opening the folder '" + path + "'");
  return FromRocks(folder->Fsync({}, nullptr), "syncing the folder '" + path + "'");
}

absl::Status RenamePath(rocksdb::FileSystem& fs, const std::string& from, const std::string& to) {
  return FromRocks(fs.RenameFile(from, to, {}, nullptr), "renaming '" + from + "' to '" + to + "'");
}

absl::Status RemoveFolder(rocksdb::FileSystem& fs, const std::string& path) {
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(fs, path);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  DUNLIN_RETURN_IF_ERROR(names);
  absl::Status first;
  for (const std::string& name : *names) {
    const std::string child = path + "/" + name;
    bool is_folder = false;
    absl::Status status =
        FromRocks(fs.IsDirectory(child, {}, &is_folder, nullptr), "looking at '" + child + "'");
    if (status.ok()) status = is_folder ? RemoveFolder(fs, child) : RemoveFile(fs, child);
    first.Update(status);
  }
  DUNLIN_RETURN_IF_ERROR(first);
  return FromRocks(fs.DeleteDir(path, {}, nullptr), "removing the folder '" + path + "'");
}

absl::Status RemoveFile(rocksdb::FileSystem& fs, const std::string& path) {
  return FromRocks(fs.DeleteFile(path, {}, nullptr), "removing '" + path + "'");
}

}  // namespace dunlin
