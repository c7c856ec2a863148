#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/base/sync.h"

namespace dunlin {

// The file system below, except that what is read of certain files at one time can be had from
// memory later, when the disk may fail. Thread safe.
class RememberingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit RememberingFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base)
      : rocksdb::FileSystemWrapper(base) {}

  // Files below this folder are those; others cost nothing. Set before any is opened.
  void Watch(const std::string& folder) { folder_ = folder + "/"; }

  // The next read of `path` is kept, unless it is of more than a mebibyte.
  void KeepNextRead(const std::string& path);
  void ForgetAll();

  // Called by the files: whether the range was in memory and is now in `scratch`.
  bool Recall(const std::string& path, uint64_t offset, size_t bytes, char* scratch) const;
  void Keep(const std::string& path, uint64_t offset, const rocksdb::Slice& contents);

  static const char* kClassName() { return "RememberingFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override;

 private:
  std::string folder_;
  mutable Mutex mutex_;
  std::string next_ ABSL_GUARDED_BY(mutex_);
  // By path and offset.
  std::map<std::string, std::map<uint64_t, std::string>> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dunlin
