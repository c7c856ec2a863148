#include "common/snapshot/snapshot_store.h"

#include <rocksdb/file_system.h>
#include <sys/random.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/config_text.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/snapshot/database_options.h"
#include "common/snapshot/directory_lock.h"
#include "common/snapshot/directory_names.h"
#include "common/snapshot/file_steps.h"
#include "common/snapshot/live_database.h"
#include "common/snapshot/pass_writer.h"
#include "common/snapshot/snapshot_files.h"

namespace dunlin {
namespace {

constexpr size_t kLiveCacheBytes = size_t{8} << 20;
constexpr uint64_t kMinMergeRate = uint64_t{1} << 20;
constexpr uint64_t kMaxMergeRate = uint64_t{1} << 40;
// An upper bound for what a directory is believed to contain.
constexpr uint64_t kMaxId = uint64_t{1} << 62;

absl::Status Refused(const std::string& why) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, why);
}

absl::StatusOr<std::string> NewStoreId() {
  unsigned char random[8];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    return MakeStatus(absl::StatusCode::kUnavailable, "the system has no random numbers to give");
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : random) {
    id.push_back(kDigits[byte >> 4]);
    id.push_back(kDigits[byte & 15]);
  }
  return id;
}

// OK if a store may be opened on what the listing says.
absl::Status WhyNotOurs(const std::string& dir, const SnapshotListing& listing) {
  switch (listing.state) {
    case DirectoryState::kForeign:
      return Refused("'" + dir + "' is no snapshot directory: " + listing.why +
                     "; give an empty directory, or one that doesn't exist");
    case DirectoryState::kDamaged:
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "the snapshot directory '" + dir + "' is damaged: " + listing.why);
    default:
      return absl::OkStatus();
  }
}

}  // namespace

struct SnapshotStore::Rep {
  explicit Rep(const Options& options)
      : options(options), engine(options.file_system, options.warn) {
    engine.memory().Watch(Path(kPassName));
  }

  absl::Status Open();
  absl::Status MakeFormat();
  absl::Status WriteFormat();
  absl::Status KeepHold();
  absl::Status RemoveLeftovers();
  absl::Status Rebuild();
  absl::Status MakeSnapshot(const SnapshotCounts& counts, std::vector<PassTable> tables,
                            SnapshotInfo* info);
  absl::Status Publish(const SnapshotInfo& info);
  absl::Status Remove(uint64_t id);
  void DropPass();
  void Warn(std::string_view text) const {
    if (options.warn) options.warn(text);
  }
  // What is removed here only takes up room; what matters is made anew each time.
  void RemoveOrWarn(const std::string& path) const {
    if (const absl::Status status = RemoveFolder(engine.fs(), path); !status.ok()) {
      Warn(FromAbsl(status.message()));
    }
  }
  std::string Path(std::string_view name) const { return Join(options.dir, name); }
  LiveDatabase::Settings LiveSettings() const {
    return {Path(kLiveName), options.table_bytes, kLiveCacheBytes, options.merge_bytes_per_second};
  }

  const Options options;
  const SnapshotEngine engine;
  std::optional<DirectoryLock> lock;
  DirectoryFormat format;
  uint64_t next_id = 1;

  bool started = false;                // by StartFrom or a full pass
  std::optional<uint64_t> base;        // what the next pass is based on
  std::unique_ptr<LiveDatabase> live;  // null: to be made from `base`

  std::unique_ptr<PassWriter> pass;  // null: there is no pass
  bool pass_is_full = false;
  absl::Status pass_status;  // of the first Put or Delete that failed
};

absl::Status SnapshotStore::Rep::Open() {
  rocksdb::FileSystem& fs = engine.fs();
  // Twice: before anything is put into somebody else's directory, and when nobody can change it.
  DUNLIN_ASSIGN_OR_RETURN(SnapshotListing listing, ListSnapshots(options.dir, options.file_system));
  DUNLIN_RETURN_IF_ERROR(WhyNotOurs(options.dir, listing));
  if (listing.state == DirectoryState::kAbsent) {
    DUNLIN_RETURN_IF_ERROR(MakeFolder(fs, options.dir));
  }
  DUNLIN_ASSIGN_OR_RETURN(lock, DirectoryLock::Take(Path(kLockName)));
  DUNLIN_ASSIGN_OR_RETURN(listing, ListSnapshots(options.dir, options.file_system));
  DUNLIN_RETURN_IF_ERROR(WhyNotOurs(options.dir, listing));
  if (listing.state == DirectoryState::kGood) {
    format = {listing.hash_seed, listing.store_id};
  } else {
    DUNLIN_RETURN_IF_ERROR(MakeFormat());
  }
  return RemoveLeftovers();
}

absl::Status SnapshotStore::Rep::MakeFormat() {
  DUNLIN_ASSIGN_OR_RETURN(format.store_id, NewStoreId());
  format.hash_seed = options.new_hash_seed;
  return WriteFormat();
}

// Somebody may have removed the directory, or have put another one in its place, or have removed
// LOCK or FORMAT. What is still ours is mended; what may be another server's by now is left alone.
absl::Status SnapshotStore::Rep::KeepHold() {
  const std::string path = Path(kLockName);
  if (!lock->Is(path)) {
    DUNLIN_ASSIGN_OR_RETURN(lock, DirectoryLock::Take(path));
    Warn("'" + path + "' was not the file that this server had locked; it has locked it anew");
    live.reset();
  }
  const std::string format_path = Path(kFormatName);
  DUNLIN_ASSIGN_OR_RETURN(const bool there, PathExists(engine.fs(), format_path));
  if (!there) {
    Warn("'" + format_path + "' was gone; it is written anew");
    return WriteFormat();
  }
  DUNLIN_ASSIGN_OR_RETURN(const std::string text,
                          ReadSmallFile(engine.fs(), format_path, kMaxFormatBytes));
  DUNLIN_ASSIGN_OR_RETURN(const DirectoryFormat found, ParseFormat(text));
  if (found.store_id == format.store_id) return absl::OkStatus();
  return Refused("'" + options.dir + "' is another directory than the one that this server " +
                 "started with; put that back, or restart the server");
}

absl::Status SnapshotStore::Rep::WriteFormat() {
  rocksdb::FileSystem& fs = engine.fs();
  DUNLIN_RETURN_IF_ERROR(
      WriteNewFile(fs, Path(kNewFormatName), EncodeFormat(format), Durable::kYes));
  DUNLIN_RETURN_IF_ERROR(RenamePath(fs, Path(kNewFormatName), Path(kFormatName)));
  DUNLIN_RETURN_IF_ERROR(SyncFolder(fs, options.dir));
  return SyncFolder(fs, Path(".."));
}

absl::Status SnapshotStore::Rep::RemoveLeftovers() {
  DUNLIN_ASSIGN_OR_RETURN(const auto names, ListFolder(engine.fs(), options.dir));
  for (const std::string& name : names) {
    if (const auto parts = ParseSnapshotName(name)) {
      if (parts->id >= kMaxId) {
        return Refused("'" + Path(name) + "' has a number that no snapshot has; move it away");
      }
      next_id = std::max(next_id, parts->id + 1);
    }
    if (!IsLeftover(name)) continue;
    if (name != kLiveName) Warn("removing '" + Path(name) + "', which a crash has left behind");
    if (name == kNewFormatName) {
      DUNLIN_RETURN_IF_ERROR(RemoveFile(engine.fs(), Path(name)));
    } else {
      RemoveOrWarn(Path(name));
    }
  }
  return absl::OkStatus();
}

absl::Status SnapshotStore::Rep::Rebuild() {
  live.reset();
  if (!base) {
    DUNLIN_ASSIGN_OR_RETURN(live, LiveDatabase::CreateEmpty(engine, LiveSettings()));
    return absl::OkStatus();
  }
  SnapshotInfo info;
  DUNLIN_RETURN_IF_ERROR(ReadManifest(engine.fs(), options.dir, *base, &info));
  DUNLIN_RETURN_IF_ERROR(CheckFileSizes(engine.fs(), options.dir, info));
  DUNLIN_ASSIGN_OR_RETURN(
      live, LiveDatabase::CreateFrom(engine, LiveSettings(), DatabasePath(options.dir, *base),
                                     info.files));
  return absl::OkStatus();
}

void SnapshotStore::Rep::DropPass() {
  if (pass == nullptr) return;
  pass.reset();
  pass_status = absl::OkStatus();
  // It may be another server's by now.
  if (lock->Is(Path(kLockName))) RemoveOrWarn(Path(kPassName));
}

absl::Status SnapshotStore::Rep::MakeSnapshot(const SnapshotCounts& counts,
                                              std::vector<PassTable> tables, SnapshotInfo* info) {
  if (pass_is_full) {
    live.reset();
    DUNLIN_ASSIGN_OR_RETURN(live, LiveDatabase::CreateEmpty(engine, LiveSettings()));
  }
  DUNLIN_RETURN_IF_ERROR(live->Add(tables));
  info->id = next_id++;
  if (!pass_is_full) info->previous = base;
  info->full = pass_is_full || !base;
  info->layout_version = options.layout_version;
  info->release = options.release;
  info->hash_seed = format.hash_seed;
  info->counts = counts;
  info->changed = pass->changed();
  info->deleted = pass->deleted();
  rocksdb::FileSystem& fs = engine.fs();
  const std::string unfinished =
      SnapshotPath(options.dir, info->id) + std::string(kUnfinishedSuffix);
  DUNLIN_RETURN_IF_ERROR(MakeFolder(fs, unfinished));
  DUNLIN_RETURN_IF_ERROR(MakeFolder(fs, Join(unfinished, kDatabaseName)));
  DUNLIN_ASSIGN_OR_RETURN(info->files, live->CopyTo(Join(unfinished, kDatabaseName)));
  info->content = ContentChecksum(info->files);
  DUNLIN_RETURN_IF_ERROR(
      WriteNewFile(fs, Join(unfinished, kManifestName), EncodeManifest(*info), Durable::kYes));
  DUNLIN_RETURN_IF_ERROR(SyncFolder(fs, unfinished));
  return Publish(*info);
}

absl::Status SnapshotStore::Rep::Publish(const SnapshotInfo& info) {
  if (!lock->Is(Path(kLockName))) {
    return Refused("'" + Path(kLockName) + "' was replaced while the snapshot was made: another " +
                   "server may have the directory");
  }
  const std::string path = SnapshotPath(options.dir, info.id);
  DUNLIN_RETURN_IF_ERROR(RenamePath(engine.fs(), path + std::string(kUnfinishedSuffix), path));
  return SyncFolder(engine.fs(), options.dir);
}

absl::Status SnapshotStore::Rep::Remove(uint64_t id) {
  const std::string path = SnapshotPath(options.dir, id);
  const std::string deleted = path + std::string(kDeletedSuffix);
  DUNLIN_RETURN_IF_ERROR(RenamePath(engine.fs(), path, deleted));
  DUNLIN_RETURN_IF_ERROR(SyncFolder(engine.fs(), options.dir));
  return RemoveFolder(engine.fs(), deleted);
}

SnapshotStore::SnapshotStore(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

SnapshotStore::~SnapshotStore() = default;

absl::StatusOr<std::unique_ptr<SnapshotStore>> SnapshotStore::Open(const Options& options) {
  if (options.merge_bytes_per_second < kMinMergeRate ||
      options.merge_bytes_per_second > kMaxMergeRate) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "a database merges 1 MiB to 1 TiB a second, not " +
                          std::to_string(options.merge_bytes_per_second) + " bytes");
  }
  if (HasControlCharacter(options.release)) {
    return MakeStatus(
        absl::StatusCode::kInvalidArgument,
        "the release must fit into a line, found '" + EscapeText(options.release) + "'");
  }
  auto rep = std::make_unique<Rep>(options);
  DUNLIN_RETURN_IF_ERROR(rep->Open());
  return std::unique_ptr<SnapshotStore>(new SnapshotStore(std::move(rep)));
}

uint64_t SnapshotStore::hash_seed() const { return rep_->format.hash_seed; }

absl::StatusOr<SnapshotListing> SnapshotStore::List() const {
  return ListSnapshots(rep_->options.dir, rep_->options.file_system);
}

absl::Status SnapshotStore::StartFrom(std::optional<uint64_t> id) {
  rep_->DropPass();
  rep_->started = false;
  rep_->base = id;
  DUNLIN_RETURN_IF_ERROR(rep_->Rebuild());
  rep_->started = true;
  return absl::OkStatus();
}

absl::Status SnapshotStore::BeginPass(bool full) {
  rep_->DropPass();
  DUNLIN_RETURN_IF_ERROR(rep_->KeepHold());
  if (!full) {
    if (!rep_->started) return Refused("the first pass must be full, or follow a StartFrom");
    if (rep_->live != nullptr && !rep_->live->Health().ok()) rep_->live.reset();
    if (rep_->live == nullptr) DUNLIN_RETURN_IF_ERROR(rep_->Rebuild());
    DUNLIN_RETURN_IF_ERROR(rep_->live->WaitForMerging());
  }
  const std::string folder = rep_->Path(kPassName);
  DUNLIN_RETURN_IF_ERROR(RemoveFolder(rep_->engine.fs(), folder));
  DUNLIN_RETURN_IF_ERROR(MakeFolder(rep_->engine.fs(), folder));
  rep_->pass = std::make_unique<PassWriter>(folder, rep_->engine.Common(kLiveCacheBytes),
                                            rep_->options.table_bytes);
  rep_->pass_is_full = full;
  return absl::OkStatus();
}

absl::Status SnapshotStore::Put(uint64_t tag, std::span<const std::byte> entry) {
  if (rep_->pass == nullptr) return Refused("there is no pass to put an entry into");
  if (rep_->pass_status.ok()) rep_->pass_status = rep_->pass->Put(tag, entry);
  return rep_->pass_status;
}

absl::Status SnapshotStore::Delete(uint64_t tag) {
  if (rep_->pass == nullptr) return Refused("there is no pass to delete an entry in");
  if (rep_->pass_status.ok()) rep_->pass_status = rep_->pass->Delete(tag);
  return rep_->pass_status;
}

absl::Status SnapshotStore::BeginLayer() {
  if (rep_->pass == nullptr) return Refused("there is no pass to begin a layer of");
  if (rep_->pass_status.ok()) rep_->pass_status = rep_->pass->BeginLayer();
  return rep_->pass_status;
}

absl::StatusOr<SnapshotInfo> SnapshotStore::Commit(const SnapshotCounts& counts) {
  if (rep_->pass == nullptr) return Refused("there is no pass to make a snapshot of");
  absl::Status status = rep_->pass_status;
  SnapshotInfo info;
  if (status.ok()) {
    absl::StatusOr<std::vector<PassTable>> tables = rep_->pass->Finish();
    status = tables.ok() ? rep_->MakeSnapshot(counts, *std::move(tables), &info) : tables.status();
    // It may have taken in the pass; the shadow of the caller has not.
    if (!status.ok()) rep_->live.reset();
  }
  rep_->DropPass();
  if (status.ok()) {
    rep_->base = info.id;
    rep_->started = true;
    return info;
  }
  if (info.id != 0 && rep_->lock->Is(rep_->Path(kLockName))) {
    const std::string path = SnapshotPath(rep_->options.dir, info.id);
    // Commit says that there is none, so nobody may find it later if that can be helped. If it
    // can't, it is a whole snapshot all the same.
    if (const absl::Status removed = rep_->Remove(info.id);
        !removed.ok() && !absl::IsNotFound(removed)) {
      rep_->Warn(FromAbsl(removed.message()));
    }
    rep_->RemoveOrWarn(path + std::string(kUnfinishedSuffix));
  }
  return status;
}

void SnapshotStore::Abort() { rep_->DropPass(); }

absl::Status SnapshotStore::DeleteSnapshot(uint64_t id) {
  DUNLIN_ASSIGN_OR_RETURN(const SnapshotListing listing, List());
  const ListedSnapshot* const found = listing.Find(id);
  if (found == nullptr) {
    return MakeStatus(absl::StatusCode::kNotFound, "there is no snapshot " + std::to_string(id) +
                                                       " in '" + rep_->options.dir + "'");
  }
  if (found == listing.NewestUsable()) {
    return Refused("snapshot " + std::to_string(id) +
                   " is the newest that can be used; make another one first");
  }
  if (rep_->base == id) {
    return Refused("snapshot " + std::to_string(id) +
                   " is what the next one is based on; make that first");
  }
  return rep_->Remove(id);
}

absl::Status SnapshotStore::Retain() {
  DUNLIN_ASSIGN_OR_RETURN(const SnapshotListing listing, List());
  const uint64_t keep = std::max<uint32_t>(rep_->options.retain, 1);
  uint64_t usable = 0;
  absl::Status first;
  for (const ListedSnapshot& snapshot : listing.snapshots) {
    const bool beyond = usable >= keep;
    usable += snapshot.usable();
    if (beyond && rep_->base != snapshot.id) first.Update(rep_->Remove(snapshot.id));
  }
  return first;
}

}  // namespace dunlin
