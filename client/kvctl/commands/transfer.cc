#include "client/kvctl/commands/transfer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace dunlin::kvctl {

absl::StatusOr<std::unique_ptr<Input>> Input::Open(Context& context, const std::string& path) {
  std::unique_ptr<Input> input(new Input());
  if (path == "-") {
    input->source_ = context.in;
    return input;
  }
  input->fd_.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!input->fd_.valid() || ::fstat(input->fd_.get(), &status) != 0) {
    const int error = errno;
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", std::strerror(error)));
  }
  if (S_ISREG(status.st_mode)) input->size_ = static_cast<uint64_t>(status.st_size);
  input->file_ = std::make_unique<FdSource>(input->fd_.get(), path);
  input->source_ = input->file_.get();
  return input;
}

absl::StatusOr<size_t> Input::Read(std::span<char> buffer) {
  DUNLIN_ASSIGN_OR_RETURN(const size_t n, source_->Read(buffer));
  read_ += n;
  return n;
}

std::optional<double> Input::fraction() const {
  if (!size_.has_value()) return std::nullopt;
  if (*size_ == 0) return 1.0;
  return std::min(1.0, static_cast<double>(read_) / static_cast<double>(*size_));
}

Tally::Tally(Context& context, std::string label, ProgressMode mode)
    : context_(context),
      progress_({.mode = mode,
                 .terminal = context.err_is_terminal,
                 .columns = context.err_columns,
                 .label = std::move(label)},
                context.clock, context.err),
      start_nanos_(context.clock->NowNanos()),
      end_nanos_(start_nanos_) {}

void Tally::Failed(std::string_view message) {
  ++state_.failed;
  if (errors_.size() == kShownErrors) return;
  errors_.emplace_back(message);
  progress_.Hide();
  Note(context_, message);
  if (errors_.size() == kShownErrors) Note(context_, "further failed records are only counted");
}

void Tally::Update(std::optional<double> fraction) {
  state_.fraction = fraction;
  progress_.Update(state_);
}

void Tally::Finish(bool complete) {
  if (complete) state_.fraction = 1.0;
  progress_.Finish(state_);
  end_nanos_ = context_.clock->NowNanos();
}

void Tally::AddTo(Report* report, std::string_view done_name) const {
  const double seconds = static_cast<double>(end_nanos_ - start_nanos_) / 1e9;
  report->Add(done_name, state_.done);
  report->Add("failed", state_.failed);
  report->Add("bytes", state_.bytes, Unit::kBytes);
  report->Add("elapsed_ms", seconds * 1e3, Unit::kMillis);
  if (seconds > 0) {
    report->Add("records_per_second", static_cast<double>(state_.done) / seconds, Unit::kRate);
  }
  if (errors_.empty() || context_.output == OutputFormat::kTable) return;
  std::vector<Report> rows;
  for (const std::string& error : errors_) {
    Report row;
    row.Add("message", error);
    rows.push_back(std::move(row));
  }
  report->AddList("errors", std::move(rows));
}

}  // namespace dunlin::kvctl
