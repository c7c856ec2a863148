#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "tests/soak/loader_page.h"

namespace dunlin::testing {

// A soak_loader. Killed when this is destroyed.
class LoaderProcess {
 public:
  struct Options {
    std::string binary, target, prefix;
    uint64_t seed = 1;
    bool cache = false;
    uint64_t wave_bytes = 0;
  };
  static absl::StatusOr<std::unique_ptr<LoaderProcess>> Start(const Options& options);
  ~LoaderProcess();
  LoaderProcess(const LoaderProcess&) = delete;
  LoaderProcess& operator=(const LoaderProcess&) = delete;

  const LoaderPage& page() const { return *page_; }
  // Tells it to stop and waits until it ended; an error if it did so in any other way.
  absl::Status End();

 private:
  LoaderProcess() = default;
  LoaderPage* page_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace dunlin::testing
