#include "client/kvctl/commands/export.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/arguments.h"
#include "client/kvctl/commands/batch_get.h"
#include "client/kvctl/commands/record_output.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr uint32_t kScanPage = 1024;

class Exporter final : public ExportJob {
 public:
  Exporter(Context& context, const ExportArguments& arguments, ByteSink& sink)
      : context_(context),
        arguments_(arguments),
        sink_(sink),
        getter_(*context.session),
        output_(context, arguments.stream, arguments.progress, sink) {}

  absl::Status Run() override {
    const absl::Status status = Pass();
    output_.Finish(status);
    return status;
  }

  ExitCode Summarize() override {
    return output_.Summarize([&](Report* report) {
      if (vanished_ > 0) report->Add("vanished", vanished_);
    });
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
      output_.Update(std::nullopt);
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
      output_.Update(static_cast<double>(at + count) / static_cast<double>(keys.size()));
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
        output_.Failed(absl::StrCat(path, ": ", more.status().message()));
        continue;
      }
      if (!more.ok()) return more.status();
      if (*more && std::string_view(record.key).starts_with(prefix_)) {
        keys.push_back(std::move(record.key));
      }
      if (keys.size() == arguments_.batch || (!*more && !keys.empty())) {
        DUNLIN_RETURN_IF_ERROR(WriteBatch(keys));
        keys.clear();
        output_.Update(input->fraction());
      }
      if (!*more) return absl::OkStatus();
    }
  }

  absl::Status WriteBatch(std::span<const std::string> keys) {
    absl::Status status;
    getter_.Get(keys, [&](size_t i, Outcome outcome, Record& record) {
      if (!status.ok()) return;
      if (outcome == Outcome::kOk) {
        status = output_.Write(record);
      } else if (outcome == Outcome::kNotFound && !arguments_.keys_from.has_value()) {
        ++vanished_;  // removed or expired since the scan saw it
      } else if (outcome == Outcome::kUnavailable || outcome == Outcome::kForked) {
        status = ToStatus(outcome, QuoteKey(keys[i]));
      } else {
        output_.Failed(FailureOf(outcome, "key " + QuoteKey(keys[i])).message);
      }
    });
    return status;
  }

  Context& context_;
  const ExportArguments& arguments_;
  ByteSink& sink_;
  BatchGetter getter_;
  RecordOutput output_;
  std::string prefix_;
  uint64_t vanished_ = 0;
};

}  // namespace

ExitCode RunExport(Context& context, const ExportArguments& arguments) {
  return RunExportJob(context, arguments.stream.path, [&](Context& its_context, ByteSink& sink) {
    return std::make_unique<Exporter>(its_context, arguments, sink);
  });
}

}  // namespace dunlin::kvctl
