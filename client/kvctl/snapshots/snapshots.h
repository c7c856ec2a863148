#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/kvctl/commands/import.h"
#include "client/kvctl/commands/records.h"
#include "client/kvctl/commands/transfer.h"
#include "client/kvctl/context.h"

// Commands on snapshots: of a server, or in a directory, which may be a running server's. Nothing
// but deleting changes the directory.

namespace dunlin::kvctl {

struct SnapshotCreateArguments {
  Milliseconds patience{600'000};
};
// Has the server make one, and waits until it is on disk. Needs Context::client.
ExitCode RunSnapshotCreate(Context& context, const SnapshotCreateArguments& arguments);

struct SnapshotListArguments {
  std::string dir;  // empty: the server's; needs Context::client
};
// The damaged ones too, with what is wrong with them.
ExitCode RunSnapshotList(Context& context, const SnapshotListArguments& arguments);

struct SnapshotDeleteArguments {
  std::string dir;  // empty: the server's; needs Context::client. Refused while a server has it
  uint64_t id = 0;
};
// kPreconditionFailed: it is the newest usable one.
ExitCode RunSnapshotDelete(Context& context, const SnapshotDeleteArguments& arguments);

struct SnapshotVerifyArguments {
  std::string dir;
  std::optional<uint64_t> id;  // unset: all
  ProgressMode progress = ProgressMode::kAuto;
};
// Reads everything. kDataLoss if something is damaged.
ExitCode RunSnapshotVerify(Context& context, const SnapshotVerifyArguments& arguments);

// The snapshot that is read; without an id the newest that can be used.
struct SnapshotChoice {
  std::string dir;
  std::optional<uint64_t> id;
};

struct SnapshotGetArguments {
  SnapshotChoice snapshot;
  KeyArguments key;
  bool raw = false;  // the value's bytes alone
};
// kNotFound, too, if the record has expired since.
ExitCode RunSnapshotGet(Context& context, const SnapshotGetArguments& arguments);

struct SnapshotExportArguments {
  SnapshotChoice snapshot;
  StreamArguments stream;
  std::string prefix;  // as written on the command line; only keys that begin so
  // Only the keys of this stream (of the same format), in its order. A key that is not in the
  // snapshot counts as failed.
  std::optional<std::string> keys_from;
  // By key, and all keys are kept in memory meanwhile; otherwise in the snapshot's own order, which
  // is the same each time.
  bool sorted = false;
  ProgressMode progress = ProgressMode::kAuto;
};
// As RunExport. Times to live are what is left of them now; expired records are left out.
ExitCode RunSnapshotExport(Context& context, const SnapshotExportArguments& arguments);

struct SnapshotRestoreArguments {
  SnapshotChoice snapshot;
  ImportOptions options;
};
// Puts the snapshot's records into a running server, as new versions. Times to live are what is
// left of them now; expired records are left out. Needs Context::session.
ExitCode RunSnapshotRestore(Context& context, const SnapshotRestoreArguments& arguments);

}  // namespace dunlin::kvctl
