#include "common/snapshot/rocksdb_status.h"

#include <string>

namespace dunlin {
namespace {

absl::StatusCode CodeOf(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return absl::StatusCode::kResourceExhausted;
  // A file that isn't there is an IOError to some functions and NotFound to others.
  if (status.IsNotFound() || status.IsPathNotFound()) return absl::StatusCode::kNotFound;
  if (status.IsCorruption()) return absl::StatusCode::kDataLoss;
  if (status.IsIOError()) return absl::StatusCode::kUnavailable;
  if (status.IsInvalidArgument()) return absl::StatusCode::kInvalidArgument;
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status FromRocks(const rocksdb::Status& status, std::string_view context) {
  if (status.ok()) return absl::OkStatus();
  return MakeStatus(CodeOf(status), std::string(context) + ": " + status.ToString());
}

}  // namespace dunlin
