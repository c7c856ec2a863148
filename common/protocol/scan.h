#pragma once

#include <cstdint>

#include "common/protocol/machine.h"

namespace dunlin {

// Where a scan stands: which part of the hash space, and which bucket of its subtable.
//   bits 0..15   bucket      bits 16..20  depth of the subtable that the bucket number counts in
//   bits 21..42  first 22 bits of the hashes that come next
// 0 is the start. If the subtable has split since, the scan begins at its first bucket again.
class ScanCursor {
 public:
  static constexpr uint64_t kEnd = ~uint64_t{0};
  explicit constexpr ScanCursor(uint64_t raw) : raw_(raw) {}
  static constexpr ScanCursor Make(uint32_t position, uint32_t depth, uint32_t bucket) {
    return ScanCursor(uint64_t{position} << 21 | uint64_t{depth} << 16 | bucket);
  }
  constexpr uint64_t raw() const { return raw_; }
  constexpr bool end() const { return raw_ == kEnd; }
  constexpr bool valid() const { return end() || raw_ >> 43 == 0; }
  constexpr uint32_t bucket() const { return raw_ & 0xFFFF; }
  constexpr uint32_t depth() const { return raw_ >> 16 & 31; }
  constexpr uint32_t position() const { return raw_ >> 21 & ((1u << kMaxDirectoryDepth) - 1); }

 private:
  uint64_t raw_;
};

// The bucket at which a cursor stands, and what follows it in its subtable.
struct ScanPlace {
  uint64_t address = 0;
  uint32_t bucket = 0;    // its number in the subtable
  uint32_t buckets = 0;   // from it to the subtable's end
  BucketHeader identity;  // that it must bear
  uint32_t depth = 0;     // of the subtable
  uint32_t position = 0;  // of the cursor

  // The cursor `skip` buckets further on, at most `buckets`.
  ScanCursor After(uint32_t skip) const;
};
ScanPlace PlaceScan(const Geometry& geometry, const DirectoryView& directory, ScanCursor at);

// Whether a bucket that was read is one of that identity with nothing in it: a scan may pass over
// it.
bool EmptyBucket(const Geometry& geometry, const std::byte* bucket, BucketHeader identity);

// Reads all records of one bucket: 1 RTT for the bucket, then one for each 8 records. A key that is
// in the index throughout a scan of all buckets keeps its slot, so it is met at least once; a
// record that is met was its key's current one when the bucket was read. Expired records are left
// out.
//
// At kNeedSink the driver copies what it wants of entries() and steps again. If the copies took too
// long the bucket is read anew: pass() grows, and the driver throws away what it copied before.
class ScanBucket {
 public:
  struct Entry {
    const std::byte* key = nullptr;
    uint32_t key_bytes = 0;
    uint64_t value_bytes = 0;
    const std::byte* value = nullptr;  // null: not read along (runs); get it by its key
    uint64_t version = 0;
    uint64_t expiry = 0;
    RecordHeader header{0};
  };

  ScanBucket() = default;
  explicit ScanBucket(ScanCursor at) : at_(at) {}

  // Scratch for one step: the bucket and eight records of the largest slab class, or a run's head.
  static constexpr uint32_t kScratchBytes =
      kBucketBytes + 2 * (kMaxRecordHead + kMaxKeyBytes + 1 + kLargestSlabBlock);

  Action Step(const Env& env, Chain& chain);

  Result result() const { return result_; }
  // Which reading of the bucket this is; what was copied in another one is void.
  uint32_t pass() const { return attempts_; }
  uint32_t entries() const { return entry_count_; }
  const Entry& entry(uint32_t i) const { return entries_[i]; }
  // After kDone with kOk: where to go on.
  ScanCursor next() const { return next_; }

 private:
  enum class State : uint8_t { kStart, kBucket, kRecords, kDeliver, kDone };

  Action Finish(Result result);
  Action ReadBucket(const Env& env, Chain& chain);
  Action OnBucket(const Env& env, Chain& chain);
  Action ReadRecords(const Env& env, Chain& chain);
  Action OnRecords(const Env& env, Chain& chain);
  Action AfterBatch(const Env& env, Chain& chain);
  Action OnDelivered(const Env& env, Chain& chain);
  Action OnTorn(const Env& env, Chain& chain);
  bool AddEntry(const Env& env, SlotWord word, const std::byte* data, uint32_t length);

  ScanCursor at_{0};
  ScanCursor next_{0};
  State state_ = State::kStart;
  Result result_ = Result::kInternal;
  uint8_t torn_ = 0;
  uint8_t batch_count_ = 0;
  uint32_t attempts_ = 0;
  uint32_t pending_ = 0;  // slots whose records are still to be read
  uint8_t batch_[kMaxWorks] = {};
  uint32_t entry_count_ = 0;
  uint64_t stamp_ = 0;
  BucketHeader identity_;
  Entry entries_[kMaxWorks];
};

}  // namespace dunlin
