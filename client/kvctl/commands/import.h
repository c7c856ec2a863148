#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "client/kvctl/commands/transfer.h"
#include "client/kvctl/context.h"
#include "client/kvctl/formats/record_stream.h"

namespace dunlin::kvctl {

struct ImportOptions {
  std::optional<Milliseconds> ttl;  // of records that say none
  bool if_absent = false;           // keys that are there are left alone and counted as skipped
  // Read every record back and compare: in a second pass when all is written; if the source can't
  // be read twice, each batch right after it was written.
  bool verify = false;
  ProgressMode progress = ProgressMode::kAuto;
  uint32_t batch = 256;  // records in flight at once, 1 to 65,536
};

// What an import reads.
class ImportSource {
 public:
  virtual ~ImportSource() = default;

  // From the beginning; called once more, to verify, if repeatable() after the first time. The
  // reader is valid until then.
  virtual absl::StatusOr<RecordReader*> Begin(const RecordLimits& limits) = 0;
  virtual bool repeatable() const = 0;
  // How much was read, 0 to 1, if that is known.
  virtual std::optional<double> fraction() const = 0;
  // What the reader's line_number() counts: "line".
  virtual std::string_view place() const = 0;
  // What else is worth telling of the first time.
  virtual void AddTo(Report* report) const = 0;
};

// Puts every record of a source. A malformed record, or one that the server refuses, is counted
// and the import goes on; a lost server or an unreadable source ends it. Needs Context::session.
// kSomeFailed if a record failed or, with verify, was not found as it was written. A key that the
// source holds twice with different values fails the verification of the first. `label`: what
// progress says that it is.
ExitCode ImportFrom(Context& context, const ImportOptions& options, std::string_view label,
                    ImportSource& source);

struct ImportArguments : ImportOptions {
  StreamArguments stream;
};

// The same of a stream: a file, or standard input, which can't be read twice.
ExitCode RunImport(Context& context, const ImportArguments& arguments);

}  // namespace dunlin::kvctl
