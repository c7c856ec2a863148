#include "client/kvctl/context.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/byte_codec.h"
#include "common/base/status.h"

namespace dunlin::kvctl {

ExitCode PrintBytes(Context& context, std::string_view bytes) {
  absl::Status status = context.out->Write(bytes);
  if (status.ok()) status = context.out->Flush();
  if (status.ok()) return ExitCode::kOk;
  Note(context, FromAbsl(status.message()));
  return ExitCode::kOther;
}

ExitCode Print(Context& context, const Report& report) {
  return PrintBytes(context,
                    context.output == OutputFormat::kJson ? report.ToJson() : report.ToTable());
}

ExitCode Fail(Context& context, const Failure& failure) {
  if (context.output == OutputFormat::kTable) {
    Note(context, failure.message);
    return failure.exit;
  }
  Report error;
  error.Add("code", failure.code);
  error.Add("message", failure.message);
  error.Add("exit", static_cast<int>(failure.exit));
  Report report;
  report.AddObject("error", std::move(error));
  const ExitCode printed = Print(context, report);
  return printed == ExitCode::kOk ? failure.exit : printed;
}

ExitCode Fail(Context& context, const absl::Status& status) {
  return Fail(context, FailureOf(status));
}

void Note(Context& context, std::string_view line) {
  // The exit code still tells when err itself is broken; there is nobody else to tell.
  absl::Status status = context.err->Write(absl::StrCat("kvctl: ", ToAbsl(line), "\n"));
  if (status.ok()) status = context.err->Flush();
  status.IgnoreError();
}

}  // namespace dunlin::kvctl
