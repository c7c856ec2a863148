#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dunlin {

// What a pass hands to whoever writes it down: entries of the snapshot's database by increasing
// tag, also from batch to batch.
struct SnapshotBatch {
  // One with so many bytes of records is pushed.
  static constexpr size_t kFullBytes = size_t{1} << 20;

  struct Item {
    uint64_t tag = 0;
    uint64_t offset = 0;  // in `bytes`
    uint64_t bytes = 0;   // 0: no record has this tag (any more)
  };
  std::vector<Item> items;
  // Whole records as they lie in the heap (common/layout/record.h), one after another, checked
  // against their checksums; expiry in ticks.
  std::vector<std::byte> bytes;
  // What follows this batch may have tags of this one or of earlier ones again, and then counts.
  bool ends_layer = false;

  // Empty, with its memory.
  void Clear() {
    items.clear();
    bytes.clear();
    ends_layer = false;
  }
};

class SnapshotSink {
 public:
  virtual ~SnapshotSink() = default;
  // Whether another batch may be pushed now.
  virtual bool Room() const = 0;
  virtual void Push(SnapshotBatch batch) = 0;
  // An empty batch to fill next: one that was written down, so that its memory needn't be had anew
  // from the system, which costs more than filling it.
  virtual SnapshotBatch Spare() { return {}; }
};

}  // namespace dunlin
