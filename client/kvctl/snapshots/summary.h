#pragma once

#include <vector>

#include "absl/status/status.h"
#include "client/kvctl/output/exit_code.h"
#include "client/kvctl/output/report.h"
#include "common/snapshot/snapshot_directory.h"
#include "dunlin/client.h"

namespace dunlin::kvctl {

SnapshotSummary ToSummary(const ListedSnapshot& listed);

// Everything about one snapshot.
Report DescribeSnapshot(const SnapshotSummary& snapshot);
// A row each.
Report DescribeSnapshots(const std::vector<SnapshotSummary>& snapshots);

// The part of a server's status.
Report DescribeServerSnapshots(const ServerSnapshots& snapshots, uint64_t uptime_ms,
                               int64_t now_unix_ms);

// A refusal because of what the snapshot or the directory is at the moment is a failed
// precondition, not a server that can't be had.
Failure SnapshotFailure(const absl::Status& status);

}  // namespace dunlin::kvctl
