#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/arguments.h"
#include "client/kvctl/commands/record_output.h"
#include "client/kvctl/snapshots/open_snapshot.h"
#include "client/kvctl/snapshots/snapshots.h"
#include "client/kvctl/snapshots/summary.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// Records between two looks at the progress.
constexpr uint64_t kStride = 1024;

class SnapshotExporter final : public ExportJob {
 public:
  SnapshotExporter(Context& context, const SnapshotExportArguments& arguments,
                   const SnapshotReader& reader, std::string prefix, ByteSink& sink)
      : context_(context),
        arguments_(arguments),
        reader_(reader),
        prefix_(std::move(prefix)),
        now_(UnixMillis(context)),
        sink_(sink),
        output_(context, arguments.stream, arguments.progress, sink) {}

  absl::Status Run() override {
    absl::Status status = Pass();
    output_.Finish(status);
    if (status.ok()) status = sink_.Flush();
    return status;
  }

  ExitCode Summarize() override {
    return output_.Summarize([&](Report* report) {
      report->Add("expired", expired_);
      report->Add("snapshot", reader_.info().id, Unit::kNone);
    });
  }

 private:
  absl::Status Pass() {
    if (arguments_.keys_from.has_value()) return WriteKeysFrom(*arguments_.keys_from);
    if (arguments_.sorted) return WriteSorted();
    return ForEach([&](const SnapshotRecord& record) { return Write(record); });
  }

  // Of the records with the prefix. An error of the output is told from one of the snapshot.
  absl::Status ForEach(const std::function<absl::Status(const SnapshotRecord&)>& use) {
    const auto whole = static_cast<double>(std::max<uint64_t>(reader_.info().counts.records, 1));
    uint64_t seen = 0;
    absl::Status used;
    const absl::StatusOr<SnapshotTotals> totals =
        reader_.ForEach(0, kSnapshotTagEnd, [&](uint64_t, const SnapshotRecord& record) {
          if (++seen % kStride == 0) output_.Update(static_cast<double>(seen) / whole);
          if (TextOf(record.key).starts_with(prefix_)) used = use(record);
          return used;
        });
    DUNLIN_RETURN_IF_ERROR(used);
    if (!totals.ok()) return Explained(totals.status());
    return Explained(reader_.CheckTotals(*totals));
  }

  absl::Status Explained(const absl::Status& status) const {
    return status.ok() ? status
                       : ExplainReadError(arguments_.snapshot.dir, reader_.info().id, status);
  }

  absl::Status Write(const SnapshotRecord& record) {
    const std::optional<Record> current = ToRecord(record, now_);
    if (current.has_value()) return output_.Write(*current);
    ++expired_;
    return absl::OkStatus();
  }

  absl::Status WriteSorted() {
    std::vector<std::string> keys;
    DUNLIN_RETURN_IF_ERROR(ForEach([&](const SnapshotRecord& record) {
      keys.emplace_back(TextOf(record.key));
      return absl::OkStatus();
    }));
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); ++i) {
      DUNLIN_RETURN_IF_ERROR(WriteKey(keys[i]));
      if (i % kStride == 0) {
        output_.Update(static_cast<double>(i) / static_cast<double>(keys.size()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteKey(const std::string& key) {
    const auto found = reader_.Get(AsBytes(key));
    if (!found.ok()) return Explained(found.status());
    if (!found->has_value()) {
      output_.Failed(absl::StrCat("key ", QuoteKey(key), ": not found"));
      return absl::OkStatus();
    }
    const OwnedSnapshotRecord& record = **found;
    return Write({record.version, record.unconditional, record.expiry_unix_ms, AsBytes(record.key),
                  AsBytes(record.value)});
  }

  absl::Status WriteKeysFrom(const std::string& path) {
    DUNLIN_ASSIGN_OR_RETURN(auto input, Input::Open(context_, path));
    const auto reader =
        MakeRecordReader(arguments_.stream.format, arguments_.stream.encoding, {}, *input);
    for (uint64_t seen = 1;; ++seen) {
      Record record;
      const absl::StatusOr<bool> more = reader->Next(&record);
      if (absl::IsInvalidArgument(more.status())) {
        output_.Failed(absl::StrCat(path, ": ", more.status().message()));
        continue;
      }
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
      if (!std::string_view(record.key).starts_with(prefix_)) continue;
      DUNLIN_RETURN_IF_ERROR(WriteKey(record.key));
      if (seen % kStride == 0) output_.Update(input->fraction());
    }
  }

  Context& context_;
  const SnapshotExportArguments& arguments_;
  const SnapshotReader& reader_;
  const std::string prefix_;
  const int64_t now_;  // of all records alike
  ByteSink& sink_;
  RecordOutput output_;
  uint64_t expired_ = 0;
};

}  // namespace

ExitCode RunSnapshotExport(Context& context, const SnapshotExportArguments& arguments) {
  const absl::StatusOr<std::string> prefix =
      DecodeArgument("the prefix", arguments.stream.encoding, arguments.prefix);
  if (!prefix.ok()) return Fail(context, prefix.status());
  const auto reader = OpenSnapshot(context, arguments.snapshot);
  if (!reader.ok()) return Fail(context, SnapshotFailure(reader.status()));
  return RunExportJob(context, arguments.stream.path, [&](Context& its_context, ByteSink& sink) {
    return std::make_unique<SnapshotExporter>(its_context, arguments, **reader, *prefix, sink);
  });
}

}  // namespace dunlin::kvctl
