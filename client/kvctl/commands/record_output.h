#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/kvctl/commands/transfer.h"
#include "client/kvctl/context.h"
#include "client/kvctl/formats/record_stream.h"

namespace dunlin::kvctl {

// Where an export's records go: it writes them in their format and counts them. A record that the
// format can't hold is counted as failed, and the export goes on.
class RecordOutput {
 public:
  // Both are borrowed.
  RecordOutput(Context& context, const StreamArguments& stream, ProgressMode mode, ByteSink& sink);

  // An error is final.
  absl::Status Write(const Record& record);
  // A record that there was nothing to write of.
  void Failed(std::string_view message) { tally_.Failed(message); }
  void Update(std::optional<double> fraction) { tally_.Update(fraction); }
  // At the end, which `status` tells of.
  void Finish(const absl::Status& status) { tally_.Finish(status.ok()); }

  // Adds the counts to what the export has to say, and prints it.
  ExitCode Summarize(const std::function<void(Report*)>& add_more);

 private:
  Context& context_;
  const std::unique_ptr<RecordWriter> writer_;
  Tally tally_;
  uint64_t ttls_dropped_ = 0;
};

// An export on its way: Run, and if that is OK Summarize.
class ExportJob {
 public:
  virtual ~ExportJob() = default;
  virtual absl::Status Run() = 0;
  virtual ExitCode Summarize() = 0;
};

// Runs the job that `make` returns, to a file, which appears under its name only when it is
// complete, or ("-") to standard output; what the job prints then goes to err, so that the stream
// stays clean.
using MakeExportJob = std::function<std::unique_ptr<ExportJob>(Context& context, ByteSink& sink)>;
ExitCode RunExportJob(Context& context, const std::string& path, const MakeExportJob& make);

}  // namespace dunlin::kvctl
