#include "common/snapshot/remembering_file_system.h"

#include <cstring>
#include <utility>

namespace dunlin {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Of a read; the blocks of a table are larger only if a single entry is.
constexpr size_t kMaxKept = size_t{1} << 20;

class WatchedFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, RememberingFileSystem* fs,
              std::string path)
      : rocksdb::FSRandomAccessFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    if (fs_->Recall(path_, offset, n, scratch)) {
      *result = Slice(scratch, n);
      return IOStatus::OK();
    }
    const IOStatus status =
        FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
    if (status.ok()) fs_->Keep(path_, offset, *result);
    return status;
  }

 private:
  RememberingFileSystem* const fs_;
  const std::string path_;
};

}  // namespace

void RememberingFileSystem::KeepNextRead(const std::string& path) {
  const MutexLock lock(mutex_);
  next_ = path;
}

void RememberingFileSystem::ForgetAll() {
  const MutexLock lock(mutex_);
  next_.clear();
  kept_.clear();
}

bool RememberingFileSystem::Recall(const std::string& path, uint64_t offset, size_t bytes,
                                   char* scratch) const {
  const MutexLock lock(mutex_);
  const auto file = kept_.find(path);
  if (file == kept_.end()) return false;
  auto range = file->second.upper_bound(offset);
  if (range == file->second.begin()) return false;
  --range;
  const uint64_t skip = offset - range->first;
  if (skip + bytes > range->second.size()) return false;
  std::memcpy(scratch, range->second.data() + skip, bytes);
  return true;
}

void RememberingFileSystem::Keep(const std::string& path, uint64_t offset, const Slice& contents) {
  const MutexLock lock(mutex_);
  if (path != next_) return;
  next_.clear();
  if (contents.size() > kMaxKept) return;
  kept_[path][offset].assign(contents.data(), contents.size());
}

IOStatus RememberingFileSystem::NewRandomAccessFile(
    const std::string& path, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSRandomAccessFile>* result, IODebugContext* debug) {
  IOStatus status = FileSystemWrapper::NewRandomAccessFile(path, options, result, debug);
  if (status.ok() && !folder_.empty() && path.starts_with(folder_)) {
    *result = std::make_unique<WatchedFile>(std::move(*result), this, path);
  }
  return status;
}

}  // namespace dunlin
