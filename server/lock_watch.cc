#include "server/lock_watch.h"

namespace dunlin {

std::optional<uint32_t> LockWatch::Seen(uint64_t address, BucketHeader word, uint64_t tick) {
  if (seen_.size() >= kMost) DropOld(tick);
  Sight& sight = seen_[address];
  // The operation's number is part of the word: another turn with the lock is another sight.
  const bool same = sight.word == word && tick - sight.last <= pause_;
  if (!same) sight = {word, 0, tick, tick};
  sight.last = tick;
  ++sight.times;
  if (tick - sight.first < patience_ || sight.times < kLeastSights) return std::nullopt;
  return word.owner();
}

void LockWatch::OwnerLost(uint32_t owner, uint64_t tick) {
  for (auto& [address, sight] : seen_) {
    if (sight.word.owner() == owner) sight.first = tick;
  }
}

void LockWatch::DropOld(uint64_t tick) {
  for (auto next = seen_.begin(); next != seen_.end();) {
    auto here = next++;
    if (tick - here->second.last > patience_) seen_.erase(here);
  }
  if (seen_.size() >= kMost) seen_.erase(seen_.begin());
}

}  // namespace dunlin
