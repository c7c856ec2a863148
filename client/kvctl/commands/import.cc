#include "client/kvctl/commands/import.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "client/kvctl/commands/arguments.h"
#include "client/kvctl/commands/batch_get.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// Records collected before they are sent together, bounded in number and bytes.
class Batch {
 public:
  explicit Batch(size_t most) : most_(most) {}

  // False: send the batch first. The requests of a batch have no order, so a key must be in it
  // only once.
  bool Accepts(const Record& record) const {
    return records_.empty() ||
           (records_.size() < most_ && bytes_ < kMostBytes && !keys_.contains(record.key));
  }
  void Add(Record record, uint64_t line) {
    bytes_ += record.key.size() + record.value.size();
    keys_.insert(record.key);
    records_.push_back(std::move(record));
    lines_.push_back(line);
  }
  void Clear() {
    records_.clear();
    lines_.clear();
    keys_.clear();
    bytes_ = 0;
  }
  const std::vector<Record>& records() const { return records_; }
  uint64_t line(size_t i) const { return lines_[i]; }

 private:
  static constexpr size_t kMostBytes = size_t{8} << 20;

  const size_t most_;
  std::vector<Record> records_;
  std::vector<uint64_t> lines_;
  absl::flat_hash_set<std::string> keys_;
  size_t bytes_ = 0;
};

// An outcome that all further records would share.
bool IsFinal(Outcome outcome) {
  return outcome == Outcome::kUnavailable || outcome == Outcome::kForked ||
         outcome == Outcome::kPermissionDenied;
}

class Importer {
 public:
  Importer(Context& context, const ImportOptions& options, std::string_view label,
           ImportSource& source)
      : context_(context),
        options_(options),
        source_(source),
        getter_(*context.session),
        written_(context, std::string(label), options.progress) {
    limits_.max_key = context.session->max_key_bytes();
    limits_.max_value = context.session->max_value_bytes();
  }

  ExitCode Run() {
    absl::Status status = WritePass();
    written_.Finish(status.ok());
    if (status.ok() && options_.verify && !verify_batches_) status = VerifyPass();
    if (!status.ok()) {
      Failure failure = FailureOf(status);
      absl::StrAppend(&failure.message, "; stopped after ", written_.done(), " records written");
      return Fail(context_, failure);
    }
    return Summarize();
  }

 private:
  absl::Status WritePass() {
    DUNLIN_ASSIGN_OR_RETURN(RecordReader* const reader, source_.Begin(limits_));
    verify_batches_ = options_.verify && !source_.repeatable();
    if (verify_batches_) StartVerification();
    DUNLIN_RETURN_IF_ERROR(ReadBatches(
        *reader, [&](std::string_view error) { written_.Failed(error); },
        [&](const Batch& batch) {
          DUNLIN_RETURN_IF_ERROR(WriteBatch(batch));
          written_.Update(source_.fraction());
          return absl::OkStatus();
        }));
    source_.AddTo(&of_source_);
    return absl::OkStatus();
  }

  void StartVerification() { verified_.emplace(context_, "verify", options_.progress); }

  absl::Status VerifyPass() {
    StartVerification();
    DUNLIN_ASSIGN_OR_RETURN(RecordReader* const reader, source_.Begin(limits_));
    const absl::Status status = ReadBatches(
        *reader, [](std::string_view) {},  // malformed records were counted when they were read
        [&](const Batch& batch) {
          DUNLIN_RETURN_IF_ERROR(VerifyBatch(batch));
          verified_->Update(source_.fraction());
          return absl::OkStatus();
        });
    verified_->Finish(status.ok());
    return status;
  }

  std::string At(uint64_t place, const Record& record) const {
    return absl::StrCat(ToAbsl(source_.place()), " ", place, ", key ", QuoteKey(record.key));
  }

  template <typename OnError, typename OnBatch>
  absl::Status ReadBatches(RecordReader& reader, OnError on_error, OnBatch on_batch) {
    Batch batch(options_.batch);
    while (true) {
      Record record;
      const absl::StatusOr<bool> more = reader.Next(&record);
      if (absl::IsInvalidArgument(more.status())) {
        on_error(FromAbsl(more.status().message()));
        continue;
      }
      if (!more.ok()) return more.status();
      if (!*more || !batch.Accepts(record)) {
        if (!batch.records().empty()) DUNLIN_RETURN_IF_ERROR(on_batch(batch));
        batch.Clear();
      }
      if (!*more) return absl::OkStatus();
      batch.Add(std::move(record), reader.line_number());
    }
  }

  absl::Status WriteBatch(const Batch& batch) {
    std::vector<PutRequest> requests(batch.records().size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const Record& record = batch.records()[i];
      requests[i].key = AsBytes(record.key);
      requests[i].value = AsBytes(record.value);
      requests[i].options.ttl = options_.ttl;
      if (record.ttl_ms.has_value()) requests[i].options.ttl = Milliseconds(*record.ttl_ms);
      if (options_.if_absent) requests[i].options.mode = PutMode::kIfAbsent;
    }
    context_.session->MultiPut(requests);

    Batch to_verify(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const Record& record = batch.records()[i];
      const Outcome outcome = requests[i].result.outcome;
      if (outcome == Outcome::kOk) {
        written_.Done(record.key.size() + record.value.size());
        if (verify_batches_) to_verify.Add(record, batch.line(i));
      } else if (outcome == Outcome::kExists) {
        ++skipped_;
      } else if (IsFinal(outcome)) {
        return ToStatus(outcome, At(batch.line(i), record));
      } else {
        written_.Failed(FailureOf(outcome, At(batch.line(i), record)).message);
      }
    }
    return verify_batches_ ? VerifyBatch(to_verify) : absl::OkStatus();
  }

  absl::Status VerifyBatch(const Batch& batch) {
    std::vector<std::string> keys;
    for (const Record& record : batch.records()) keys.push_back(record.key);
    absl::Status status;
    getter_.Get(keys, [&](size_t i, Outcome outcome, Record& found) {
      const Record& record = batch.records()[i];
      if (IsFinal(outcome)) {
        status = ToStatus(outcome, At(batch.line(i), record));
      } else if (outcome != Outcome::kOk) {
        verified_->Failed(FailureOf(outcome, "verify, " + At(batch.line(i), record)).message);
      } else if (found.value != record.value) {
        verified_->Failed(absl::StrCat("verify, ", At(batch.line(i), record),
                                       ": the store has another value (", found.value.size(),
                                       " bytes instead of ", record.value.size(), ")"));
      } else {
        verified_->Done(record.key.size() + record.value.size());
      }
    });
    return status;
  }

  ExitCode Summarize() {
    Report report;
    written_.AddTo(&report, "written");
    if (options_.if_absent) report.Add("skipped", skipped_);
    report.Append(of_source_);
    if (verified_.has_value()) {
      if (verify_batches_) verified_->Finish(true);
      Report verification;
      verified_->AddTo(&verification, "verified");
      report.AddObject("verification", std::move(verification));
    }
    const ExitCode printed = Print(context_, report);
    if (printed != ExitCode::kOk) return printed;
    const bool failed = written_.failed() > 0 || (verified_.has_value() && verified_->failed() > 0);
    return failed ? ExitCode::kSomeFailed : ExitCode::kOk;
  }

  Context& context_;
  const ImportOptions& options_;
  ImportSource& source_;
  RecordLimits limits_;
  BatchGetter getter_;
  bool verify_batches_ = false;
  Tally written_;
  std::optional<Tally> verified_;
  uint64_t skipped_ = 0;
  Report of_source_;
};

class StreamSource final : public ImportSource {
 public:
  StreamSource(Context& context, const StreamArguments& arguments)
      : context_(context), arguments_(arguments) {}

  absl::StatusOr<RecordReader*> Begin(const RecordLimits& limits) override {
    reader_ = nullptr;
    DUNLIN_ASSIGN_OR_RETURN(input_, Input::Open(context_, arguments_.path));
    reader_ = MakeRecordReader(arguments_.format, arguments_.encoding, limits, *input_);
    return reader_.get();
  }
  bool repeatable() const override { return input_->repeatable(); }
  std::optional<double> fraction() const override { return input_->fraction(); }
  std::string_view place() const override { return "line"; }
  void AddTo(Report* report) const override {
    if (arguments_.format != Format::kDebianIndex) return;
    report->Add("renamed_duplicates", reader_->renamed_duplicates());
  }

 private:
  Context& context_;
  const StreamArguments& arguments_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<RecordReader> reader_;
};

}  // namespace

ExitCode ImportFrom(Context& context, const ImportOptions& options, std::string_view label,
                    ImportSource& source) {
  return Importer(context, options, label, source).Run();
}

ExitCode RunImport(Context& context, const ImportArguments& arguments) {
  StreamSource source(context, arguments.stream);
  return ImportFrom(context, arguments, "import", source);
}

}  // namespace dunlin::kvctl
