#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/kvctl/context.h"
#include "client/kvctl/formats/record_stream.h"
#include "client/kvctl/output/progress.h"
#include "common/base/unique_fd.h"

// What import and export share.

namespace dunlin::kvctl {

struct StreamArguments {
  std::string path = "-";  // "-": standard input or output
  Format format = Format::kJsonLines;
  Encoding encoding = Encoding::kText;
};

// The stream that an import reads, from a file or standard input.
class Input final : public ByteSource {
 public:
  static absl::StatusOr<std::unique_ptr<Input>> Open(Context& context, const std::string& path);

  absl::StatusOr<size_t> Read(std::span<char> buffer) override;

  // How much of the file was read, 0 to 1; none if its size isn't known.
  std::optional<double> fraction() const;

  // Whether the same bytes can be had again by opening it again.
  bool repeatable() const { return size_.has_value(); }

 private:
  Input() = default;

  UniqueFd fd_;
  std::unique_ptr<FdSource> file_;
  ByteSource* source_ = nullptr;
  std::optional<uint64_t> size_;  // of a regular file
  uint64_t read_ = 0;
};

// Counts what became of the records, tells the user of the first that failed, and shows progress.
class Tally {
 public:
  static constexpr size_t kShownErrors = 10;

  // `context` must outlive the tally.
  Tally(Context& context, std::string label, ProgressMode mode);

  void Done(size_t bytes) {
    ++state_.done;
    state_.bytes += bytes;
  }
  // The record did not get to where it should be.
  void Failed(std::string_view message);
  // For batches: shows progress.
  void Update(std::optional<double> fraction);
  // At the end of a pass.
  void Finish(bool complete);

  uint64_t done() const { return state_.done; }
  uint64_t failed() const { return state_.failed; }
  // Adds done, failed, bytes, seconds, rate and the errors shown.
  void AddTo(Report* report, std::string_view done_name) const;

 private:
  Context& context_;
  Progress progress_;
  Progress::State state_;
  const int64_t start_nanos_;
  int64_t end_nanos_;
  std::vector<std::string> errors_;
};

}  // namespace dunlin::kvctl
