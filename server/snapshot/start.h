#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/log.h"
#include "common/snapshot/snapshot_reader.h"
#include "common/snapshot/snapshot_store.h"
#include "server/options.h"

namespace dunlin {

// What a server with a snapshot directory starts from.
struct SnapshotStart {
  std::unique_ptr<SnapshotStore> store;    // based on what `reader` reads
  std::unique_ptr<SnapshotReader> reader;  // null: nothing is to be loaded
  std::vector<std::string> skipped;        // newer snapshots that can't be used, and why
  std::vector<uint64_t> newer;             // ids of those that are newer than what is loaded
  uint64_t ignored = 0;                    // usable ones, with start-empty
};

// A snapshot that turned out to be damaged when it was loaded.
struct DamagedSnapshot {
  uint64_t id = 0;
  std::string why;
};

// Opens the directory and chooses the snapshot: that of the options, or the newest that is good and
// none of `damaged`. Refuses, and says what to do, where there are snapshots and none can be used.
absl::StatusOr<SnapshotStart> ChooseSnapshot(const ServerOptions& options,
                                             const std::vector<DamagedSnapshot>& damaged,
                                             const std::string& release, Logger& logger);

}  // namespace dunlin
