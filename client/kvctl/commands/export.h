#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/kvctl/commands/transfer.h"
#include "client/kvctl/context.h"

namespace dunlin::kvctl {

struct ExportArguments {
  StreamArguments stream;
  std::string prefix;  // as written on the command line; only keys that begin so
  // Only the keys of this stream (of the same format), in its order. A key that is not in the
  // store counts as failed.
  std::optional<std::string> keys_from;
  // Write records as the scan finds them, in memory that doesn't grow with the store; a key may
  // come twice while the store's index is rebuilt. Otherwise records are sorted by key, each once,
  // and all keys are kept in memory meanwhile.
  bool unsorted = false;
  ProgressMode progress = ProgressMode::kAuto;
  uint32_t batch = 256;  // records in flight at once, 1 to 65,536
};

// Writes records to a file, which appears under its name only when it is complete, or to standard
// output; the summary and errors then go to err, so that the stream stays clean. A record that the
// format can't hold is counted and the export goes on. Records that disappear meanwhile are left
// out. Needs Context::session. kSomeFailed if a record failed.
ExitCode RunExport(Context& context, const ExportArguments& arguments);

}  // namespace dunlin::kvctl
