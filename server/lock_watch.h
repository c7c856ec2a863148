#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/layout/bucket.h"

namespace dunlin {

// The locks that somebody waited for and asked about, and since when their holders have had them. A
// lock is held for a round trip; one that is still held by the same operation after `patience`
// belongs to a client that has stopped or hangs. Pure; not thread safe.
class LockWatch {
 public:
  explicit LockWatch(uint64_t patience)
      : patience_(patience), pause_(std::max(kLeastPause, patience / 8)) {}

  // Somebody found the lock at `address` held as `word` says, at `tick`. The holder's session, if
  // it has been so for longer than the patience, as far as anybody asked.
  std::optional<uint32_t> Seen(uint64_t address, BucketHeader word, uint64_t tick);
  // The session has died: what it held is asked about anew from now on.
  void OwnerLost(uint32_t owner, uint64_t tick);
  // For how many ticks it has been asked about as it is held now, without a gap until now.
  uint64_t AskedFor(uint64_t address, BucketHeader word, uint64_t tick) const {
    const auto found = seen_.find(address);
    if (found == seen_.end()) return 0;
    const Sight& sight = found->second;
    return sight.word == word && tick - sight.last <= kLeastPause ? tick - sight.first : 0;
  }
  // The lock is held like that no more.
  void Forget(uint64_t address) { seen_.erase(address); }

 private:
  // Asking has no cost for who asks, so the memory for it is bounded.
  static constexpr size_t kMost = 4096;
  // A busy client's turns have numbers that come round: that the same one was seen twice proves
  // nothing. Who waits asks every 20 ms, so one and the same turn is seen often, and without a gap.
  static constexpr uint32_t kLeastSights = 4;
  static constexpr uint64_t kLeastPause = 50;
  struct Sight {
    BucketHeader word;
    uint32_t times = 0;
    uint64_t first = 0;
    uint64_t last = 0;
  };
  void DropOld(uint64_t tick);

  const uint64_t patience_;
  const uint64_t pause_;  // after one that is longer all begins anew
  std::map<uint64_t, Sight> seen_;
};

}  // namespace dunlin
