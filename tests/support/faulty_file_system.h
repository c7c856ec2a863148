#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "common/base/sync.h"

namespace dunlin::testing {

enum class FileStep : uint32_t {
  kCreate = 1,
  kAppend = 2,
  kSync = 4,
  kSyncFolder = 8,
  kRename = 16,
  kLink = 32,
  kDelete = 64,
  kMakeFolder = 128,
  kOpen = 256,
  kRead = 512,
};

constexpr uint32_t StepMask(std::initializer_list<FileStep> steps) {
  uint32_t mask = 0;
  for (const FileStep step : steps) mask |= static_cast<uint32_t>(step);
  return mask;
}
inline constexpr uint32_t kChangingSteps =
    StepMask({FileStep::kCreate, FileStep::kAppend, FileStep::kSync, FileStep::kSyncFolder,
              FileStep::kRename, FileStep::kLink, FileStep::kDelete, FileStep::kMakeFolder});
inline constexpr uint32_t kAllSteps = kChangingSteps | StepMask({FileStep::kOpen, FileStep::kRead});

// What goes wrong at the n-th step of certain kinds.
struct FileFault {
  enum class Kind : uint8_t { kIoError, kNoSpace, kShortWrite, kCall };

  Kind kind = Kind::kIoError;
  uint32_t steps = kAllSteps;            // the kinds that are counted and may fail
  uint64_t at = 0;                       // the first that fails; steps count from 1
  bool lasting = false;                  // all later ones fail as well
  std::function<void()> call = nullptr;  // kCall: called instead of failing
};

// Passes everything on to `base`, and fails where it is told to. Thread safe.
class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultyFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base)
      : rocksdb::FileSystemWrapper(base) {}

  // From now on, and counted from now on.
  void Inject(FileFault fault);
  void Heal() { Inject({}); }
  uint64_t steps() const;  // counted since then
  bool struck() const;     // whether the fault has happened

  // Called by the files, too. OK, or the error. `half`, if there is one, is told whether to do half
  // of a write before that.
  rocksdb::IOStatus Step(FileStep step, const std::string& path, bool* half = nullptr);

  static const char* kClassName() { return "FaultyFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildren(const std::string& path, const rocksdb::IOOptions& options,
                                std::vector<std::string>* result,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteDir(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;

 private:
  mutable Mutex mutex_;
  FileFault fault_ ABSL_GUARDED_BY(mutex_);
  uint64_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
  bool struck_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dunlin::testing
