#include "client/kvctl/commands/record_output.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/output_file.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvctl {

RecordOutput::RecordOutput(Context& context, const StreamArguments& stream, ProgressMode mode,
                           ByteSink& sink)
    : context_(context),
      writer_(MakeRecordWriter(stream.format, stream.encoding, sink)),
      tally_(context, "export", mode) {}

absl::Status RecordOutput::Write(const Record& record) {
  const absl::Status status = writer_->Write(record);
  if (absl::IsInvalidArgument(status)) {
    tally_.Failed(FromAbsl(status.message()));
    return absl::OkStatus();
  }
  if (!status.ok()) return status;
  if (record.ttl_ms.has_value() && !writer_->keeps_ttl()) ++ttls_dropped_;
  tally_.Done(record.key.size() + record.value.size());
  return absl::OkStatus();
}

ExitCode RecordOutput::Summarize(const std::function<void(Report*)>& add_more) {
  Report report;
  tally_.AddTo(&report, "written");
  add_more(&report);
  if (ttls_dropped_ > 0) {
    report.Add("ttls_dropped", ttls_dropped_);
    Note(context_, absl::StrCat(FormatCount(ttls_dropped_),
                                " records have a time to live that this format can't hold; "
                                "--format json keeps it"));
  }
  const ExitCode printed = Print(context_, report);
  if (printed != ExitCode::kOk) return printed;
  return tally_.failed() > 0 ? ExitCode::kSomeFailed : ExitCode::kOk;
}

ExitCode RunExportJob(Context& context, const std::string& path, const MakeExportJob& make) {
  if (path == "-") {
    Context beside_the_stream = context;
    beside_the_stream.out = context.err;
    const std::unique_ptr<ExportJob> job = make(beside_the_stream, *context.out);
    const absl::Status status = job->Run();
    if (!status.ok()) return Fail(beside_the_stream, status);
    return job->Summarize();
  }
  absl::StatusOr<std::unique_ptr<OutputFile>> file = OutputFile::Create(path);
  if (!file.ok()) return Fail(context, file.status());
  const std::unique_ptr<ExportJob> job = make(context, **file);
  absl::Status status = job->Run();
  if (status.ok()) status = (*file)->Commit();
  if (!status.ok()) return Fail(context, status);
  return job->Summarize();
}

}  // namespace dunlin::kvctl
