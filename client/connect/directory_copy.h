#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "common/layout/directory.h"
#include "common/layout/superblock.h"

namespace dunlin {

// A session's private copy of the directory, validated. Not thread safe.
class DirectoryCopy {
 public:
  // Reads the region's bytes from `offset` on, each aligned word whole.
  using ReadRegion = std::function<absl::Status(uint64_t offset, std::span<std::byte> to)>;

  // Fetches the directory that is published now. `read` reads the region that `superblock`, found
  // usable, describes; three times at least. After an error the copy is as it was. Errors:
  // FailedPrecondition (root or an entry outside its area: what was expected, what was found),
  // Aborted (a new directory was published each time: try again), those of `read`.
  absl::Status Refresh(const ReadRegion& read, const Superblock& superblock);

  // Points into the copy: valid until the next Refresh. Empty before the first.
  DirectoryView view() const { return {entries_.data(), depth_, epoch_}; }
  uint64_t root_word() const { return root_word_; }
  bool loaded() const { return !entries_.empty(); }

 private:
  std::vector<uint64_t> entries_;
  std::vector<uint64_t> fetched_;
  uint32_t depth_ = 0;
  uint32_t epoch_ = 0;
  uint64_t root_word_ = 0;
};

}  // namespace dunlin
