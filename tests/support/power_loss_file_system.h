#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/base/sync.h"

namespace dunlin::testing {

// Passes everything on to the host's file system, and keeps account of what a loss of power would
// leave below one folder: of a file, what was written before its last sync; of a folder, the names
// that were in it at its last sync. LosePower() makes it so. Thread safe.
//
// As little as POSIX promises is believed: syncing a file says nothing of its name, syncing a
// folder nothing of what is in its files or below its folders. Renames within a folder are atomic.
class PowerLossFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // `root` is an empty folder; beside it, `root`.vault will be one of its own.
  explicit PowerLossFileSystem(const std::string& root);
  ~PowerLossFileSystem() override;

  enum class Unsynced : uint8_t {
    kAllLost,
    kNamesKept,  // every name, but no contents
    kPartLost,   // of each folder some of the latest changes, of each file some of its end
  };
  // REQUIRES: no file below the root is open, and nobody else uses this object.
  void LosePower(Unsynced how, uint64_t seed);

  static const char* kClassName() { return "PowerLossFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, size_t size,
                             const rocksdb::IOOptions& options,
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

  struct Node;
  using NodePointer = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePointer>;
  // Names that appear (a node) or go away (none) together.
  using Change = std::vector<std::pair<std::string, NodePointer>>;

  struct Node {
    bool is_folder = false;
    // Of a folder.
    Names synced_names;
    std::vector<Change> changes;  // since then
    // Of a file.
    uint64_t bytes = 0;
    uint64_t synced_bytes = 0;
    std::string vault_path;  // a name of the file that nobody deletes
  };

  // For the files and folders that this has opened.
  void Wrote(const NodePointer& node, uint64_t bytes);
  void Synced(const NodePointer& node);

 private:
  struct Place {
    NodePointer folder;  // null: not below the root
    std::string name;
  };

  std::vector<std::string> Steps(const std::string& path, bool* below) const;
  static Names NamesOf(const Node& folder, size_t changes);
  NodePointer FindLocked(const std::string& path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Place PlaceLocked(const std::string& path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChangeLocked(const std::string& path, NodePointer node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  NodePointer NewFileLocked(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  NodePointer Rebuild(const Node& node, const std::string& path, Unsynced how, Random& random)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string root_;
  const std::string vault_;
  mutable Mutex mutex_;
  NodePointer tree_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_file_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dunlin::testing
