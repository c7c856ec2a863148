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

// Reads a snapshot in a thread of its own, ahead of who takes the records. For one other thread.
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
  };

  // `reader` is borrowed.
  explicit RecordFeed(const SnapshotReader& reader);
  // Gives up what was not taken.
  ~RecordFeed();

  // Waits for the next batch; nothing at the end, good or bad.
  std::optional<Batch> Next();
  // After the end: whether everything was read, and was what the manifest says.
  absl::Status status();

 private:
  void Run();
  // False: nobody wants any more.
  bool Hand(Batch batch);

  const SnapshotReader& reader_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Batch> batches_ ABSL_GUARDED_BY(mutex_);
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace dunlin
