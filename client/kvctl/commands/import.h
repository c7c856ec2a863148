#pragma once

#include <cstdint>
#include <optional>

#include "client/kvctl/commands/transfer.h"
#include "client/kvctl/context.h"

namespace dunlin::kvctl {

struct ImportArguments {
  StreamArguments stream;
  std::optional<Milliseconds> ttl;  // of records that say none
  bool if_absent = false;           // keys that are there are left alone and counted as skipped
  // Read every record back and compare: in a second pass over a file when all is written; for
  // standard input, which can't be read twice, each batch right after it was written.
  bool verify = false;
  ProgressMode progress = ProgressMode::kAuto;
  uint32_t batch = 256;  // records in flight at once, 1 to 65,536
};

// Puts every record of a stream. A malformed record, or one that the server refuses, is counted
// and the import goes on; a lost server or an unreadable stream ends it. Needs Context::session.
// kSomeFailed if a record failed or, with verify, was not found as it was written. A key that the
// stream holds twice with different values fails the verification of the first.
ExitCode RunImport(Context& context, const ImportArguments& arguments);

}  // namespace dunlin::kvctl
