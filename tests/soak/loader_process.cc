#include "tests/soak/loader_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

extern char** environ;

namespace dunlin::testing {

absl::StatusOr<std::unique_ptr<LoaderProcess>> LoaderProcess::Start(const Options& options) {
  auto loader = std::unique_ptr<LoaderProcess>(new LoaderProcess());
  // Inherited by the loader, so not close-on-exec.
  UniqueFd fd(memfd_create("soak-loader", 0));
  if (fd.get() < 0) return absl::InternalError("memfd_create: " + std::string(strerror(errno)));
  loader->page_ = MapLoaderPage(fd.get());
  if (loader->page_ == nullptr) return absl::InternalError("cannot map a loader's page");
  std::vector<std::string> words = {options.binary,
                                    options.target,
                                    std::to_string(fd.get()),
                                    std::to_string(options.seed),
                                    options.prefix,
                                    options.cache ? "cache" : "store",
                                    std::to_string(options.wave_bytes)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error =
      posix_spawn(&loader->pid_, options.binary.c_str(), nullptr, nullptr, argv.data(), environ);
  if (error != 0) {
    loader->pid_ = -1;
    return absl::NotFoundError("cannot start " + options.binary + ": " + std::strerror(error));
  }
  return loader;
}

LoaderProcess::~LoaderProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

absl::Status LoaderProcess::End() {
  page_->stop = 1;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError("a loader ended with status " + std::to_string(status));
}

}  // namespace dunlin::testing
