// Create, list and delete.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/snapshots/open_snapshot.h"
#include "client/kvctl/snapshots/snapshots.h"
#include "client/kvctl/snapshots/summary.h"
#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/snapshot/snapshot_store.h"

namespace dunlin::kvctl {
namespace {

ExitCode PrintList(Context& context, const std::vector<SnapshotSummary>& snapshots) {
  if (snapshots.empty() && context.output == OutputFormat::kTable) {
    Note(context, "there are no snapshots");
    return ExitCode::kOk;
  }
  return Print(context, DescribeSnapshots(snapshots));
}

ExitCode ListInDirectory(Context& context, const std::string& dir) {
  const absl::StatusOr<SnapshotListing> listing = ListDirectory(context, dir);
  if (!listing.ok()) return Fail(context, SnapshotFailure(listing.status()));
  std::vector<SnapshotSummary> snapshots;
  for (const ListedSnapshot& listed : listing->snapshots) snapshots.push_back(ToSummary(listed));
  const ExitCode printed = PrintList(context, snapshots);
  const bool damaged = listing->state == DirectoryState::kDamaged;
  return printed == ExitCode::kOk && damaged ? ExitCode::kDataLoss : printed;
}

absl::Status DeleteInDirectory(Context& context, const std::string& dir, uint64_t id) {
  // Opening a store would make a directory where there is none.
  DUNLIN_ASSIGN_OR_RETURN(const SnapshotListing listing, ListDirectory(context, dir));
  if (listing.Find(id) == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no snapshot ", id, " in ", dir));
  }
  SnapshotStore::Options options;
  options.dir = dir;
  options.release = "kvctl";
  options.warn = [&context](std::string_view text) { Note(context, text); };
  DUNLIN_ASSIGN_OR_RETURN(const auto store, SnapshotStore::Open(options));
  return store->DeleteSnapshot(id);
}

}  // namespace

ExitCode RunSnapshotCreate(Context& context, const SnapshotCreateArguments& arguments) {
  const int64_t begin = context.clock->NowNanos();
  const absl::StatusOr<SnapshotSummary> made = context.client->CreateSnapshot(arguments.patience);
  if (!made.ok()) {
    Failure failure = SnapshotFailure(made.status());
    if (absl::IsDeadlineExceeded(made.status())) {
      const int64_t patience = std::chrono::nanoseconds(arguments.patience).count();
      failure.message =
          absl::StrCat("the snapshot was not on disk within ", FormatDuration(patience),
                       "; it may come yet: see kvctl snapshot list and kvctl status, "
                       "or wait longer with --timeout");
    }
    return Fail(context, failure);
  }
  Report report = DescribeSnapshot(*made);
  report.Add("waited_ms", static_cast<double>(context.clock->NowNanos() - begin) / 1e6,
             Unit::kMillis);
  return Print(context, report);
}

ExitCode RunSnapshotList(Context& context, const SnapshotListArguments& arguments) {
  if (!arguments.dir.empty()) return ListInDirectory(context, arguments.dir);
  const absl::StatusOr<std::vector<SnapshotSummary>> snapshots = context.client->ListSnapshots();
  if (!snapshots.ok()) return Fail(context, SnapshotFailure(snapshots.status()));
  return PrintList(context, *snapshots);
}

ExitCode RunSnapshotDelete(Context& context, const SnapshotDeleteArguments& arguments) {
  const absl::Status status = arguments.dir.empty()
                                  ? context.client->DeleteSnapshot(arguments.id)
                                  : DeleteInDirectory(context, arguments.dir, arguments.id);
  if (!status.ok()) return Fail(context, SnapshotFailure(status));
  Report report;
  report.Add("id", arguments.id, Unit::kNone);
  report.Add("deleted", true);
  return Print(context, report);
}

}  // namespace dunlin::kvctl
