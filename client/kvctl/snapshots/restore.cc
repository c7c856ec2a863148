#include "client/kvctl/snapshots/open_snapshot.h"
#include "client/kvctl/snapshots/record_source.h"
#include "client/kvctl/snapshots/snapshots.h"
#include "client/kvctl/snapshots/summary.h"

namespace dunlin::kvctl {

ExitCode RunSnapshotRestore(Context& context, const SnapshotRestoreArguments& arguments) {
  const auto reader = OpenSnapshot(context, arguments.snapshot);
  if (!reader.ok()) return Fail(context, SnapshotFailure(reader.status()));
  SnapshotSource source(context, arguments.snapshot.dir, **reader);
  return ImportFrom(context, arguments.options, "restore", source);
}

}  // namespace dunlin::kvctl
