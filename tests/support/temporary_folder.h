#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "common/base/check.h"

namespace dunlin::testing {

// Where files are in memory, if there is such a place: for tests that sync often, or write much.
inline std::filesystem::path MemoryFolder() {
  const std::filesystem::path memory = "/dev/shm";
  return access(memory.c_str(), R_OK | W_OK | X_OK) == 0 ? memory
                                                         : std::filesystem::temp_directory_path();
}

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    path_ = (parent / "dunlin-XXXXXX").string();
    DUNLIN_CHECK(mkdtemp(path_.data()) != nullptr, "no temporary folder to be had");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dunlin::testing
