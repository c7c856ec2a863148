#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/kvctl/context.h"
#include "client/kvctl/formats/record.h"
#include "client/kvctl/snapshots/snapshots.h"
#include "common/snapshot/snapshot_directory.h"
#include "common/snapshot/snapshot_entry.h"
#include "common/snapshot/snapshot_reader.h"
#include "dunlin/types.h"

namespace dunlin::kvctl {

// What is in the directory. NotFound: it doesn't exist. InvalidArgument: it is none of snapshots.
// Says on err if its FORMAT is damaged.
absl::StatusOr<SnapshotListing> ListDirectory(Context& context, const std::string& dir);

// The snapshot, for reading. Says on err which newer ones are passed over, and why. NotFound: there
// is none. DataLoss: it is damaged, or all are.
absl::StatusOr<std::unique_ptr<SnapshotReader>> OpenSnapshot(Context& context,
                                                             const SnapshotChoice& choice);

// What reading snapshot `id` failed with, and what to do about it: a snapshot that a server deletes
// while it is read is missing files.
absl::Status ExplainReadError(const std::string& dir, uint64_t id, const absl::Status& status);

// The record, with what is left of its time to live; nothing if it has expired.
std::optional<Record> ToRecord(const SnapshotRecord& record, int64_t now_unix_ms);

inline std::string_view TextOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int64_t UnixMillis(const Context& context);

}  // namespace dunlin::kvctl
