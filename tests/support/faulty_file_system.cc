#include "tests/support/faulty_file_system.h"

#include <utility>

namespace dunlin::testing {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class FaultySequentialFile : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  FaultySequentialFile(std::unique_ptr<rocksdb::FSSequentialFile> file, FaultyFileSystem* fs,
                       std::string path)
      : rocksdb::FSSequentialFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    const IOStatus status = fs_->Step(FileStep::kRead, path_);
    return status.ok() ? FSSequentialFileOwnerWrapper::Read(n, options, result, scratch, debug)
                       : status;
  }

 private:
  FaultyFileSystem* const fs_;
  const std::string path_;
};

class FaultyRandomAccessFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyRandomAccessFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, FaultyFileSystem* fs,
                         std::string path)
      : rocksdb::FSRandomAccessFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    const IOStatus status = fs_->Step(FileStep::kRead, path_);
    if (!status.ok()) return status;
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
  }

 private:
  FaultyFileSystem* const fs_;
  const std::string path_;
};

class FaultyWritableFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, FaultyFileSystem* fs,
                     std::string path)
      : rocksdb::FSWritableFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  using rocksdb::FSWritableFileOwnerWrapper::Append;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    bool half = false;
    const IOStatus status = fs_->Step(FileStep::kAppend, path_, &half);
    if (status.ok()) return FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (half) {
      FSWritableFileOwnerWrapper::Append(Slice(data.data(), data.size() / 2), options, debug)
          .PermitUncheckedError();
    }
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus status = fs_->Step(FileStep::kSync, path_);
    return status.ok() ? FSWritableFileOwnerWrapper::Sync(options, debug) : status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus status = fs_->Step(FileStep::kSync, path_);
    return status.ok() ? FSWritableFileOwnerWrapper::Fsync(options, debug) : status;
  }

 private:
  FaultyFileSystem* const fs_;
  const std::string path_;
};

class FaultyFolder : public rocksdb::FSDirectoryWrapper {
 public:
  FaultyFolder(std::unique_ptr<rocksdb::FSDirectory> folder, FaultyFileSystem* fs, std::string path)
      : rocksdb::FSDirectoryWrapper(std::move(folder)), fs_(fs), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus status = fs_->Step(FileStep::kSyncFolder, path_);
    return status.ok() ? FSDirectoryWrapper::Fsync(options, debug) : status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& how) override {
    const IOStatus status = fs_->Step(FileStep::kSyncFolder, path_);
    return status.ok() ? FSDirectoryWrapper::FsyncWithDirOptions(options, debug, how) : status;
  }

 private:
  FaultyFileSystem* const fs_;
  const std::string path_;
};

}  // namespace

void FaultyFileSystem::Inject(FileFault fault) {
  const MutexLock lock(mutex_);
  fault_ = std::move(fault);
  steps_ = 0;
  struck_ = false;
}

uint64_t FaultyFileSystem::steps() const {
  const MutexLock lock(mutex_);
  return steps_;
}

bool FaultyFileSystem::struck() const {
  const MutexLock lock(mutex_);
  return struck_;
}

IOStatus FaultyFileSystem::Step(FileStep step, const std::string& path, bool* half) {
  const MutexLock lock(mutex_);
  if ((fault_.steps & static_cast<uint32_t>(step)) == 0) return IOStatus::OK();
  ++steps_;
  const bool strikes = fault_.lasting ? steps_ >= fault_.at : steps_ == fault_.at;
  if (fault_.at == 0 || !strikes) return IOStatus::OK();
  struck_ = true;
  switch (fault_.kind) {
    case FileFault::Kind::kCall:
      fault_.call();
      return IOStatus::OK();
    case FileFault::Kind::kNoSpace:
      return IOStatus::NoSpace("injected", path);
    case FileFault::Kind::kShortWrite:
      if (half != nullptr) *half = true;
      return IOStatus::IOError("injected, after half of it", path);
    case FileFault::Kind::kIoError:
      break;
  }
  return IOStatus::IOError("injected", path);
}

IOStatus FaultyFileSystem::NewSequentialFile(const std::string& path, const FileOptions& options,
                                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                             IODebugContext* debug) {
  IOStatus status = Step(FileStep::kOpen, path);
  if (status.ok()) status = FileSystemWrapper::NewSequentialFile(path, options, result, debug);
  if (status.ok()) {
    *result = std::make_unique<FaultySequentialFile>(std::move(*result), this, path);
  }
  return status;
}

IOStatus FaultyFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                               IODebugContext* debug) {
  IOStatus status = Step(FileStep::kOpen, path);
  if (status.ok()) status = FileSystemWrapper::NewRandomAccessFile(path, options, result, debug);
  if (status.ok()) {
    *result = std::make_unique<FaultyRandomAccessFile>(std::move(*result), this, path);
  }
  return status;
}

IOStatus FaultyFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext* debug) {
  IOStatus status = Step(FileStep::kCreate, path);
  if (status.ok()) status = FileSystemWrapper::NewWritableFile(path, options, result, debug);
  if (status.ok()) *result = std::make_unique<FaultyWritableFile>(std::move(*result), this, path);
  return status;
}

IOStatus FaultyFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext* debug) {
  IOStatus status = Step(FileStep::kCreate, path);
  if (status.ok()) status = FileSystemWrapper::ReopenWritableFile(path, options, result, debug);
  if (status.ok()) *result = std::make_unique<FaultyWritableFile>(std::move(*result), this, path);
  return status;
}

IOStatus FaultyFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                        std::unique_ptr<rocksdb::FSDirectory>* result,
                                        IODebugContext* debug) {
  IOStatus status = Step(FileStep::kOpen, path);
  if (status.ok()) status = FileSystemWrapper::NewDirectory(path, options, result, debug);
  if (status.ok()) *result = std::make_unique<FaultyFolder>(std::move(*result), this, path);
  return status;
}

IOStatus FaultyFileSystem::GetChildren(const std::string& path, const IOOptions& options,
                                       std::vector<std::string>* result, IODebugContext* debug) {
  const IOStatus status = Step(FileStep::kRead, path);
  return status.ok() ? FileSystemWrapper::GetChildren(path, options, result, debug) : status;
}

IOStatus FaultyFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                      IODebugContext* debug) {
  const IOStatus status = Step(FileStep::kDelete, path);
  return status.ok() ? FileSystemWrapper::DeleteFile(path, options, debug) : status;
}

IOStatus FaultyFileSystem::CreateDir(const std::string& path, const IOOptions& options,
                                     IODebugContext* debug) {
  const IOStatus status = Step(FileStep::kMakeFolder, path);
  return status.ok() ? FileSystemWrapper::CreateDir(path, options, debug) : status;
}

IOStatus FaultyFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                              IODebugContext* debug) {
  const IOStatus status = Step(FileStep::kMakeFolder, path);
  return status.ok() ? FileSystemWrapper::CreateDirIfMissing(path, options, debug) : status;
}

IOStatus FaultyFileSystem::DeleteDir(const std::string& path, const IOOptions& options,
                                     IODebugContext* debug) {
  const IOStatus status = Step(FileStep::kDelete, path);
  return status.ok() ? FileSystemWrapper::DeleteDir(path, options, debug) : status;
}

IOStatus FaultyFileSystem::RenameFile(const std::string& from, const std::string& to,
                                      const IOOptions& options, IODebugContext* debug) {
  const IOStatus status = Step(FileStep::kRename, from);
  return status.ok() ? FileSystemWrapper::RenameFile(from, to, options, debug) : status;
}

IOStatus FaultyFileSystem::LinkFile(const std::string& from, const std::string& to,
                                    const IOOptions& options, IODebugContext* debug) {
  const IOStatus status = Step(FileStep::kLink, from);
  return status.ok() ? FileSystemWrapper::LinkFile(from, to, options, debug) : status;
}

}  // namespace dunlin::testing
