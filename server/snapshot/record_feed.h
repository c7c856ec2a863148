#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/sync.h"
#include "common/snapshot/snapshot_reader.h"

namespace dunlin {

// Reads a snapshot in threads of its own, ahead of who takes the records. For one other thread.
//
// The tags are cut into slices of some MiB; thread i of n reads slices i, i + n, ... one after
// another, a bounded number of bytes ahead, and the slices are handed on in their order.
class RecordFeed {
 public:
  // Records by increasing tag.
  struct Batch {
    struct Item {
      uint64_t tag = 0;
      uint64_t version = 0;
      std::optional<int64_t> expiry_unix_ms;
      uint64_t offset = 0;  // in `bytes`: the key, then the value
      uint32_t key_bytes = 0;
      uint32_t value_bytes = 0;
      bool unconditional = false;
    };
    std::vector<Item> items;
    std::vector<std::byte> bytes;
    bool ends_slice = false;

    // Empty, with its memory.
    void Clear() {
      items.clear();
      bytes.clear();
      ends_slice = false;
    }
  };

  // `reader` is borrowed. At most `threads` of them; at least 1.
  RecordFeed(const SnapshotReader& reader, uint32_t threads);
  // Gives up what was not taken.
  ~RecordFeed();

  // Waits for the next batch; nothing at the end, good or bad. `used`: the one before, whose memory
  // serves once more.
  std::optional<Batch> Next(Batch used);
  // After the end: whether everything was read, and was what the manifest says.
  absl::Status status();

 private:
  // What one thread has read and nobody has taken yet.
  struct Lane {
    std::deque<Batch> batches;
    absl::Status status;  // not OK: nothing follows the batches
  };

  void Run(uint32_t lane);
  absl::Status ReadSlice(uint32_t lane, uint64_t slice);
  // Hands the batch on and leaves an empty one. False: nobody wants any more.
  bool Hand(uint32_t lane, Batch* batch);

  const SnapshotReader& reader_;
  const uint64_t slices_;
  const uint32_t lane_count_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Lane> lanes_ ABSL_GUARDED_BY(mutex_);
  std::vector<Batch> spares_ ABSL_GUARDED_BY(mutex_);
  uint64_t slice_ ABSL_GUARDED_BY(mutex_) = 0;  // that is being taken
  SnapshotTotals totals_ ABSL_GUARDED_BY(mutex_);
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dunlin
