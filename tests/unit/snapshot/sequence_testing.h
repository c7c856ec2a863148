#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/snapshot/snapshot_directory.h"

namespace dunlin::testing {

// What a run of passes came to.
struct Sequence {
  absl::Status opened;     // whether the store could be opened and started
  uint64_t committed = 0;  // the last pass whose snapshot was said to be there
  uint64_t failed = 0;     // passes that came to nothing
  absl::Status last;       // of the last pass
};

// Opens the store in `dir` through `file_system`, goes on from its newest snapshot with the passes
// after that, `passes` of them, deletes what is too old after each, and closes the store. Each pass
// is based on the last that was committed, as far as the caller was told. `committed`, if there is
// one, is told of each pass whose snapshot is there, at once.
Sequence RunPasses(const std::string& dir, const SnapshotFileSystem& file_system, uint64_t passes,
                   const std::function<void(uint64_t pass)>& committed = nullptr);

}  // namespace dunlin::testing
