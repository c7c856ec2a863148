#pragma once

#include <vector>

#include "dunlin/client.h"
#include "proto/control.pb.h"

namespace dunlin {

ServerStatus ToServerStatus(const control::StatusReply& reply);
std::vector<SnapshotSummary> ToSnapshots(const control::SnapshotReply& reply);

}  // namespace dunlin
