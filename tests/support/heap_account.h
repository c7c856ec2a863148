#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dunlin/client.h"

namespace dunlin::testing {

// What a scan of all records says is in use, to hold against what the server says.
struct HeapAccount {
  uint64_t records = 0;
  uint64_t bytes = 0;          // of heap: blocks of each record's size class
  uint64_t blocks_in_use = 0;  // as the server says
  // What is wrong, the first few: damaged values, keys that can't be read, sums that don't agree.
  std::vector<std::string> faults;
  ServerStatus status;

  // Blocks that no record is in, but are not free.
  int64_t leaked_blocks() const {
    return static_cast<int64_t>(blocks_in_use) - static_cast<int64_t>(records);
  }
  // In blocks of a larger class than their records need: a write that lost a race against a smaller
  // record may use the block that it had at hand.
  int64_t oversize_bytes() const {
    return static_cast<int64_t>(status.heap_used_bytes) - static_cast<int64_t>(bytes);
  }
  void Fault(const std::string& text) {
    if (faults.size() < 10) faults.push_back(text);
  }
};

// Waits until what the dead had is free: only `own_sessions` are left, a sweep has found what
// nobody knows of, and no grace period is running. Nobody else may be writing.
absl::StatusOr<ServerStatus> AwaitRest(Client& client, size_t own_sessions, Milliseconds patience);

// Reads every record twice, as it lies in the index and by its key, and accounts for every byte.
// Values are decimal integers or stamped (stamped_value.h). At rest only; the server itself may
// still move or drop records, so a scan between whose ends it did is repeated, within `patience`.
// `keys`: all keys, if set.
HeapAccount AccountForHeap(Client& client, Session& session, Milliseconds patience,
                           std::vector<std::string>* keys = nullptr);

}  // namespace dunlin::testing
