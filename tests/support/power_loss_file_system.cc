#include "tests/support/power_loss_file_system.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/base/check.h"

namespace dunlin::testing {
namespace {

namespace files = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class WatchedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<rocksdb::FSWritableFile> file, PowerLossFileSystem* fs,
              PowerLossFileSystem::NodePointer node)
      : rocksdb::FSWritableFileOwnerWrapper(std::move(file)), fs_(fs), node_(std::move(node)) {}

  using rocksdb::FSWritableFileOwnerWrapper::Append;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (status.ok()) fs_->Wrote(node_, data.size());
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  // Keeps its word without the host's disk, which would only cost time.
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    fs_->Synced(node_);
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  PowerLossFileSystem* const fs_;
  const PowerLossFileSystem::NodePointer node_;
};

class WatchedFolder : public rocksdb::FSDirectoryWrapper {
 public:
  WatchedFolder(std::unique_ptr<rocksdb::FSDirectory> folder, PowerLossFileSystem* fs,
                PowerLossFileSystem::NodePointer node)
      : rocksdb::FSDirectoryWrapper(std::move(folder)), fs_(fs), node_(std::move(node)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    fs_->Synced(node_);
    return IOStatus::OK();
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, debug);
  }

 private:
  PowerLossFileSystem* const fs_;
  const PowerLossFileSystem::NodePointer node_;
};

PowerLossFileSystem::NodePointer NewFolderNode() {
  auto node = std::make_shared<PowerLossFileSystem::Node>();
  node->is_folder = true;
  return node;
}

}  // namespace

PowerLossFileSystem::PowerLossFileSystem(const std::string& root)
    : rocksdb::FileSystemWrapper(rocksdb::FileSystem::Default()),
      root_(root),
      vault_(root + ".vault"),
      tree_(NewFolderNode()) {
  files::create_directories(vault_);
}

PowerLossFileSystem::~PowerLossFileSystem() {
  std::error_code ignored;
  files::remove_all(vault_, ignored);
}

void PowerLossFileSystem::Wrote(const NodePointer& node, uint64_t bytes) {
  const MutexLock lock(mutex_);
  node->bytes += bytes;
}

void PowerLossFileSystem::Synced(const NodePointer& node) {
  const MutexLock lock(mutex_);
  node->synced_bytes = node->bytes;
  node->synced_names = NamesOf(*node, node->changes.size());
  node->changes.clear();
}

std::vector<std::string> PowerLossFileSystem::Steps(const std::string& path, bool* below) const {
  const files::path relative = files::path(path).lexically_normal().lexically_relative(
      files::path(root_).lexically_normal());
  std::vector<std::string> steps;
  *below = !relative.empty() && *relative.begin() != "..";
  for (const files::path& step : relative) {
    if (step != "." && !step.empty()) steps.push_back(step.string());
  }
  return steps;
}

PowerLossFileSystem::Names PowerLossFileSystem::NamesOf(const Node& folder, size_t changes) {
  Names names = folder.synced_names;
  for (size_t i = 0; i < changes; ++i) {
    for (const auto& [name, node] : folder.changes[i]) {
      if (node == nullptr) {
        names.erase(name);
      } else {
        names[name] = node;
      }
    }
  }
  return names;
}

PowerLossFileSystem::NodePointer PowerLossFileSystem::FindLocked(const std::string& path) const {
  bool below = false;
  NodePointer node = tree_;
  for (const std::string& step : Steps(path, &below)) {
    if (!below || node == nullptr) return nullptr;
    Names names = NamesOf(*node, node->changes.size());
    node = names[step];
  }
  return below ? node : nullptr;
}

PowerLossFileSystem::Place PowerLossFileSystem::PlaceLocked(const std::string& path) const {
  const files::path normal = files::path(path).lexically_normal();
  return {FindLocked(normal.parent_path().string()), normal.filename().string()};
}

void PowerLossFileSystem::ChangeLocked(const std::string& path, NodePointer node) {
  const Place place = PlaceLocked(path);
  if (place.folder != nullptr) place.folder->changes.push_back({{place.name, std::move(node)}});
}

PowerLossFileSystem::NodePointer PowerLossFileSystem::NewFileLocked(const std::string& path) {
  if (NodePointer known = FindLocked(path)) return known;
  auto node = std::make_shared<Node>();
  node->vault_path = vault_ + "/" + std::to_string(next_file_++);
  files::create_hard_link(path, node->vault_path);
  ChangeLocked(path, node);
  return node;
}

IOStatus PowerLossFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::NewWritableFile(path, options, result, debug);
  if (!status.ok() || PlaceLocked(path).folder == nullptr) return status;
  // Emptied, if it was there before: then that is what may be left of it.
  const NodePointer node = NewFileLocked(path);
  node->bytes = node->synced_bytes = 0;
  *result = std::make_unique<WatchedFile>(std::move(*result), this, node);
  return status;
}

IOStatus PowerLossFileSystem::ReopenWritableFile(const std::string& path,
                                                 const FileOptions& options,
                                                 std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                 IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::ReopenWritableFile(path, options, result, debug);
  if (!status.ok() || PlaceLocked(path).folder == nullptr) return status;
  *result = std::make_unique<WatchedFile>(std::move(*result), this, NewFileLocked(path));
  return status;
}

IOStatus PowerLossFileSystem::NewDirectory(const std::string& path, const IOOptions& options,
                                           std::unique_ptr<rocksdb::FSDirectory>* result,
                                           IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::NewDirectory(path, options, result, debug);
  const NodePointer node = FindLocked(path);
  if (!status.ok() || node == nullptr) return status;
  *result = std::make_unique<WatchedFolder>(std::move(*result), this, node);
  return status;
}

IOStatus PowerLossFileSystem::DeleteFile(const std::string& path, const IOOptions& options,
                                         IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::DeleteFile(path, options, debug);
  if (status.ok()) ChangeLocked(path, nullptr);
  return status;
}

IOStatus PowerLossFileSystem::Truncate(const std::string& path, size_t size,
                                       const IOOptions& options, IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::Truncate(path, size, options, debug);
  const NodePointer node = FindLocked(path);
  if (status.ok() && node != nullptr) {
    node->bytes = size;
    node->synced_bytes = std::min<uint64_t>(node->synced_bytes, size);
  }
  return status;
}

IOStatus PowerLossFileSystem::CreateDir(const std::string& path, const IOOptions& options,
                                        IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::CreateDir(path, options, debug);
  if (status.ok()) ChangeLocked(path, NewFolderNode());
  return status;
}

IOStatus PowerLossFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                                 IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::CreateDirIfMissing(path, options, debug);
  if (status.ok() && FindLocked(path) == nullptr) ChangeLocked(path, NewFolderNode());
  return status;
}

IOStatus PowerLossFileSystem::DeleteDir(const std::string& path, const IOOptions& options,
                                        IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::DeleteDir(path, options, debug);
  if (status.ok()) ChangeLocked(path, nullptr);
  return status;
}

IOStatus PowerLossFileSystem::RenameFile(const std::string& from, const std::string& to,
                                         const IOOptions& options, IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const NodePointer node = FindLocked(from);
  const IOStatus status = FileSystemWrapper::RenameFile(from, to, options, debug);
  if (!status.ok() || node == nullptr) return status;
  const Place source = PlaceLocked(from);
  const Place target = PlaceLocked(to);
  DUNLIN_CHECK(source.folder == target.folder, "a rename from one folder to another");
  source.folder->changes.push_back({{source.name, nullptr}, {target.name, node}});
  return status;
}

IOStatus PowerLossFileSystem::LinkFile(const std::string& from, const std::string& to,
                                       const IOOptions& options, IODebugContext* debug) {
  const MutexLock lock(mutex_);
  const IOStatus status = FileSystemWrapper::LinkFile(from, to, options, debug);
  if (status.ok()) ChangeLocked(to, FindLocked(from));
  return status;
}

void PowerLossFileSystem::LosePower(Unsynced how, uint64_t seed) {
  const MutexLock lock(mutex_);
  Random random(seed);
  const std::string rebuilt = root_ + ".rebuilt";
  const std::string old_vault = vault_ + ".old";
  files::rename(vault_, old_vault);
  files::create_directories(vault_);
  tree_ = Rebuild(*tree_, rebuilt, how, random);
  files::remove_all(root_);
  files::rename(rebuilt, root_);
  files::remove_all(old_vault);
}

// Makes what is left of `node` at `path`, and returns the node of that.
PowerLossFileSystem::NodePointer PowerLossFileSystem::Rebuild(const Node& node,
                                                              const std::string& path, Unsynced how,
                                                              Random& random) {
  auto left = std::make_shared<Node>();
  left->is_folder = node.is_folder;
  if (!node.is_folder) {
    left->bytes = node.synced_bytes;
    if (how == Unsynced::kPartLost) left->bytes = random.Between(node.synced_bytes, node.bytes);
    left->synced_bytes = left->bytes;
    left->vault_path = vault_ + "/" + std::to_string(next_file_++);
    files::copy_file(vault_ + ".old/" + files::path(node.vault_path).filename().string(), path);
    files::resize_file(path, left->bytes);
    files::create_hard_link(path, left->vault_path);
    return left;
  }
  files::create_directory(path);
  size_t kept = 0;
  if (how == Unsynced::kNamesKept) kept = node.changes.size();
  if (how == Unsynced::kPartLost) kept = random.Between(0, node.changes.size());
  for (const auto& [name, child] : NamesOf(node, kept)) {
    left->synced_names[name] = Rebuild(*child, path + "/" + name, how, random);
  }
  return left;
}

}  // namespace dunlin::testing
