#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/kvctl/formats/byte_stream.h"
#include "common/base/unique_fd.h"

namespace dunlin::kvctl {

// A file that appears whole or not at all: written beside its name as "<name>.partial", and renamed
// by Commit when all is on disk. Dropped without Commit, the partial file is removed, and what was
// there under the name before stays. Devices and pipes are written as they are.
class OutputFile final : public ByteSink {
 public:
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  ~OutputFile() override;

  absl::Status Write(std::string_view bytes) override { return sink_->Write(bytes); }
  absl::Status Flush() override { return sink_->Flush(); }

  // Nothing may be written afterwards.
  absl::Status Commit();

 private:
  OutputFile() = default;

  std::string path_;
  std::string partial_path_;  // empty: written in place, or committed
  UniqueFd fd_;
  std::unique_ptr<FdSink> sink_;
};

}  // namespace dunlin::kvctl
