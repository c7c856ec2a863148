#include "server/snapshot/start.h"

#include <sys/random.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_join.h"
#include "common/base/status.h"

namespace dunlin {
namespace {

std::string Text(const absl::Status& status) { return std::string(FromAbsl(status.message())); }

absl::Status NoneUsable(const ServerOptions& o, const std::vector<std::string>& skipped) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "snapshot-dir '" + o.snapshot_dir +
                        "' holds snapshots, and none of them can be used (" +
                        absl::StrJoin(skipped, "; ") +
                        "); not starting empty over them: look at 'kvctl snapshot verify', restore "
                        "the directory, or set start-empty to go on without these records");
}

absl::StatusOr<std::unique_ptr<SnapshotStore>> OpenStore(const ServerOptions& o,
                                                         const std::string& release,
                                                         Logger& logger) {
  SnapshotStore::Options options;
  options.dir = o.snapshot_dir;
  options.retain = static_cast<uint32_t>(o.snapshot_keep);
  options.release = release;
  options.warn = [&logger](std::string_view text) { logger.Warning(std::string(text)); };
  if (getrandom(&options.new_hash_seed, sizeof options.new_hash_seed, 0) !=
      sizeof options.new_hash_seed) {
    return absl::InternalError("cannot get random bytes");
  }
  return SnapshotStore::Open(options);
}

std::unique_ptr<SnapshotReader> TryOpen(const ServerOptions& o, const ListedSnapshot& listed,
                                        const std::vector<DamagedSnapshot>& damaged,
                                        std::vector<std::string>& skipped) {
  std::string why;
  const auto known = std::find_if(damaged.begin(), damaged.end(),
                                  [&](const DamagedSnapshot& d) { return d.id == listed.id; });
  if (known != damaged.end()) {
    why = known->why;
  } else if (!listed.usable()) {
    why = Text(listed.status);
  } else {
    auto reader = SnapshotReader::Open(o.snapshot_dir, listed.id, {});
    if (reader.ok()) return *std::move(reader);
    why = Text(reader.status());
  }
  skipped.push_back("snapshot " + std::to_string(listed.id) + ": " + why);
  return nullptr;
}

}  // namespace

absl::StatusOr<SnapshotStart> ChooseSnapshot(const ServerOptions& o,
                                             const std::vector<DamagedSnapshot>& damaged,
                                             const std::string& release, Logger& logger) {
  SnapshotStart start;
  DUNLIN_ASSIGN_OR_RETURN(start.store, OpenStore(o, release, logger));
  DUNLIN_ASSIGN_OR_RETURN(const SnapshotListing listing, start.store->List());
  const auto wanted = static_cast<uint64_t>(o.snapshot_id);
  if (wanted != 0 && listing.Find(wanted) == nullptr && !o.start_empty) {
    return MakeStatus(absl::StatusCode::kNotFound,
                      "snapshot-id: there is no snapshot " + std::to_string(wanted) + " in '" +
                          o.snapshot_dir + "'; 'kvctl snapshot list --dir' shows what there is");
  }
  for (const ListedSnapshot& listed : listing.snapshots) {
    if (o.start_empty) start.ignored += listed.usable();
    if (o.start_empty || start.reader != nullptr) continue;
    if (wanted == 0 || listed.id == wanted) {
      start.reader = TryOpen(o, listed, damaged, start.skipped);
    }
    if (start.reader == nullptr) start.newer.push_back(listed.id);
  }
  if (start.reader == nullptr && !start.skipped.empty()) return NoneUsable(o, start.skipped);
  std::optional<uint64_t> base;
  if (start.reader != nullptr) base = start.reader->info().id;
  DUNLIN_RETURN_IF_ERROR(start.store->StartFrom(base));
  return start;
}

}  // namespace dunlin
