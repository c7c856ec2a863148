#pragma once

#include <bit>
#include <cstdint>

#include "common/protocol/machine.h"
#include "common/protocol/record_view.h"

namespace dunlin {

// The cold search that the operations share: read both buckets, pick the slots whose fingerprint
// fits, read their records, compare the keys. The copies of the buckets stay in the scratch.
class Lookup {
 public:
  enum class Buckets : uint8_t {
    kGood,
    kStale,  // a header bears another identity than the directory: refresh it
  };

  // Finds the buckets through the directory of `env`.
  void Place(const Env& env, const Key& key) {
    placement_ = dunlin::Place(*env.geometry, env.directory, key.hash);
  }

  // Adds the READs of both buckets, and the wish that the candidates' records be read along;
  // `whole` as below.
  void AddBucketReads(const Env& env, const Key& key, bool whole, Chain& chain) const;

  // After the bucket READs came back. Records that were read along are the first batch.
  Buckets OnBuckets(const Env& env, const Key& key, const Chain& chain);

  // Whether there are candidates whose records were not read.
  bool pending() const { return pending_ != 0; }

  // Adds READs of the next candidates' records, at most kCandidatesPerChain: whole if `whole` and
  // the scratch has room, else header and key.
  void AddCandidateReads(const Env& env, const Key& key, bool whole, Chain& chain);

  // The candidates whose records the last chain brought, as its last READs.
  uint32_t batch() const { return batch_count_; }
  const Work& BatchRead(const Chain& chain, uint32_t i) const {
    return chain.work[chain.count - chain.swung - batch_count_ + i];
  }
  SlotWord BatchWord(const Env& env, const Chain& chain, uint32_t i) const {
    return SlotAt(env, chain, batch_[i]);
  }
  uint64_t BatchSlotAddress(const Env& env, uint32_t i) const {
    uint32_t n = env.geometry->slots_per_bucket;
    return env.geometry->SlotAddress(placement_.bucket[batch_[i] / n], batch_[i] % n);
  }

  // Of the sampled buckets: a slot says MOVED, so that absence is not to be believed.
  bool SawMoved(const Env& env, const Chain& chain) const;
  // A slot that fits names no block of the heap.
  bool saw_corrupt() const { return saw_corrupt_; }
  // Age of the sampled buckets.
  uint64_t stamp() const { return stamp_; }

  // A free slot of the emptier bucket, 0 if both are full.
  uint64_t FreeSlot(const Env& env, const Chain& chain) const;

  const Placement& placement() const { return placement_; }

 private:
  // Where records read by copying go, and how much of each is read.
  struct Room {
    uint32_t base;
    uint32_t stride;
    uint32_t whole_bytes;
    uint32_t head_bytes;
  };
  static Room RoomFor(const Env& env, const Key& key, bool whole);
  void TakeNext();

  static SlotWord SlotAt(const Env& env, const Chain& chain, uint32_t position) {
    const Geometry& g = *env.geometry;
    uint32_t n = g.slots_per_bucket;
    return SlotWord(PlainWord(chain.scratch + position / n * g.bucket_bytes + kWordBytes +
                              position % n * kWordBytes));
  }

  Placement placement_;
  uint64_t stamp_ = 0;
  uint32_t pending_ = 0;  // bit (bucket x slots + slot): fits, not read yet
  bool saw_corrupt_ = false;
  uint8_t batch_count_ = 0;
  uint8_t batch_[kCandidatesPerChain] = {};
};

}  // namespace dunlin
