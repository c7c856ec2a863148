#include "client/kvctl/commands/export.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/arguments.h"
#include "client/kvctl/commands/batch_get.h"
#include "client/kvctl/commands/output_file.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvctl {
namespace {

constexpr uint32_t kScanPage = 1024;

class Exporter {
 public:
  Exporter(Context& context, const ExportArguments& arguments, ByteSink& sink)
      : context_(context),
        arguments_(arguments),
        sink_(sink),
        writer_(MakeRecordWriter(arguments.stream.format, arguments.stream.encoding, sink)),
        getter_(*context.session),
        tally_(context, "export", arguments.progress) {}

  absl::Status Run() {
    const absl::Status status = Pass();
    tally_.Finish(status.ok());
    return status;
  }

  // After Run.
  ExitCode Summarize() {
    Report report;
    tally_.AddTo(&report, "written");
    if (vanished_ > 0) report.Add("vanished", vanished_);
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

 private:
  absl::Status Pass() {
    DUNLIN_ASSIGN_OR_RETURN(
        prefix_, DecodeArgument("the prefix", arguments_.stream.encoding, arguments_.prefix));
    if (arguments_.keys_from.has_value()) {
      DUNLIN_RETURN_IF_ERROR(WriteKeysFrom(*arguments_.keys_from));
    } else if (arguments_.unsorted) {
      DUNLIN_RETURN_IF_ERROR(WriteAsScanned());
    } else {
      DUNLIN_RETURN_IF_ERROR(WriteSorted());
    }
    return sink_.Flush();
  }

  // Hands on the store's keys in batches. Values are fetched apart, so that a page of large ones
  // does not fill memory.
  absl::Status ForEachPage(uint32_t limit,
                           const std::function<absl::Status(std::vector<std::string>)>& visit) {
    ScanOptions options;
    options.prefix = prefix_;
    options.values = false;
    options.limit = limit;
    uint64_t cursor = 0;
    while (true) {
      DUNLIN_ASSIGN_OR_RETURN(ScanPage page, context_.session->Scan(cursor, options));
      std::vector<std::string> keys;
      for (ScanEntry& entry : page.entries) keys.push_back(std::move(entry.key));
      DUNLIN_RETURN_IF_ERROR(visit(std::move(keys)));
      tally_.Update(std::nullopt);
      if (page.done) return absl::OkStatus();
      cursor = page.next;
    }
  }

  absl::Status WriteAsScanned() {
    return ForEachPage(arguments_.batch,
                       [&](const std::vector<std::string>& keys) { return WriteBatch(keys); });
  }

  absl::Status WriteSorted() {
    std::vector<std::string> keys;
    DUNLIN_RETURN_IF_ERROR(ForEachPage(kScanPage, [&](std::vector<std::string> page) {
      std::move(page.begin(), page.end(), std::back_inserter(keys));
      return absl::OkStatus();
    }));
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (size_t at = 0; at < keys.size(); at += arguments_.batch) {
      const size_t count = std::min<size_t>(arguments_.batch, keys.size() - at);
      DUNLIN_RETURN_IF_ERROR(WriteBatch(std::span(keys).subspan(at, count)));
      tally_.Update(static_cast<double>(at + count) / static_cast<double>(keys.size()));
    }
    return absl::OkStatus();
  }

  absl::Status WriteKeysFrom(const std::string& path) {
    DUNLIN_ASSIGN_OR_RETURN(auto input, Input::Open(context_, path));
    RecordLimits limits;
    limits.max_key = context_.session->max_key_bytes();
    limits.max_value = context_.session->max_value_bytes();
    const auto reader =
        MakeRecordReader(arguments_.stream.format, arguments_.stream.encoding, limits, *input);
    std::vector<std::string> keys;
    while (true) {
      Record record;
      const absl::StatusOr<bool> more = reader->Next(&record);
      if (absl::IsInvalidArgument(more.status())) {
        tally_.Failed(absl::StrCat(path, ": ", more.status().message()));
        continue;
      }
      if (!more.ok()) return more.status();
      if (*more && std::string_view(record.key).starts_with(prefix_)) {
        keys.push_back(std::move(record.key));
      }
      if (keys.size() == arguments_.batch || (!*more && !keys.empty())) {
        DUNLIN_RETURN_IF_ERROR(WriteBatch(keys));
        keys.clear();
        tally_.Update(input->fraction());
      }
      if (!*more) return absl::OkStatus();
    }
  }

  absl::Status WriteBatch(std::span<const std::string> keys) {
    absl::Status status;
    getter_.Get(keys, [&](size_t i, Outcome outcome, Record& record) {
      if (!status.ok()) return;
      if (outcome == Outcome::kOk) {
        status = Write(record);
      } else if (outcome == Outcome::kNotFound && !arguments_.keys_from.has_value()) {
        ++vanished_;  // removed or expired since the scan saw it
      } else if (outcome == Outcome::kUnavailable || outcome == Outcome::kForked) {
        status = ToStatus(outcome, QuoteKey(keys[i]));
      } else {
        tally_.Failed(FailureOf(outcome, "key " + QuoteKey(keys[i])).message);
      }
    });
    return status;
  }

  absl::Status Write(const Record& record) {
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

  Context& context_;
  const ExportArguments& arguments_;
  ByteSink& sink_;
  const std::unique_ptr<RecordWriter> writer_;
  BatchGetter getter_;
  Tally tally_;
  std::string prefix_;
  uint64_t vanished_ = 0;
  uint64_t ttls_dropped_ = 0;
};

}  // namespace

ExitCode RunExport(Context& context, const ExportArguments& arguments) {
  if (arguments.stream.path == "-") {
    Context beside_the_stream = context;
    beside_the_stream.out = context.err;
    Exporter exporter(beside_the_stream, arguments, *context.out);
    const absl::Status status = exporter.Run();
    if (!status.ok()) return Fail(beside_the_stream, status);
    return exporter.Summarize();
  }
  absl::StatusOr<std::unique_ptr<OutputFile>> file = OutputFile::Create(arguments.stream.path);
  if (!file.ok()) return Fail(context, file.status());
  Exporter exporter(context, arguments, **file);
  absl::Status status = exporter.Run();
  if (status.ok()) status = (*file)->Commit();
  if (!status.ok()) return Fail(context, status);
  return exporter.Summarize();
}

}  // namespace dunlin::kvctl
