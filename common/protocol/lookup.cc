#include "common/protocol/lookup.h"

#include <algorithm>

namespace dunlin {

Lookup::Buckets Lookup::OnBuckets(const Env& env, const Key& key, const Chain& chain) {
  const Geometry& g = *env.geometry;
  stamp_ = env.posted;
  pending_ = 0;
  batch_count_ = 0;
  saw_corrupt_ = false;
  const uint64_t mask = SlotWord::kFingerprintMask << SlotWord::kFingerprintShift;
  const uint64_t want = uint64_t{FingerprintOf(key.hash)} << SlotWord::kFingerprintShift;
  uint32_t fits = 0;
  for (uint32_t b = 0; b < 2; ++b) {
    const std::byte* bucket = chain.scratch + b * g.bucket_bytes;
    if (!BucketHeader(PlainWord(bucket)).SameIdentity(placement_.free_header) &&
        !DUNLIN_MUTATION(kMissElsewhere) && !DUNLIN_MUTATION(kLockObserved)) {
      return Buckets::kStale;
    }
    for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
      uint64_t word = PlainWord(bucket + kWordBytes + s * kWordBytes);
      fits |= uint32_t{(word & mask) == want} << (b * g.slots_per_bucket + s);
    }
  }
  for (; fits != 0; fits &= fits - 1) {
    uint32_t position = static_cast<uint32_t>(std::countr_zero(fits));
    SlotWord word = SlotAt(env, chain, position);
    if (word.live() && InHeap(g, word)) {
      pending_ |= 1u << position;
    } else if (!word.empty() && !word.moved()) {
      saw_corrupt_ = true;
    }
  }
  return Buckets::kGood;
}

void Lookup::AddCandidateReads(const Env& env, const Key& key, bool whole, Chain& chain) {
  const Geometry& g = *env.geometry;
  const uint32_t head = kMaxRecordHead + key.bytes;
  const uint32_t base = CandidateOffset(g, key.bytes);
  const uint32_t room = (env.scratch_bytes - base) / kCandidatesPerChain & ~7u;
  for (batch_count_ = 0; pending_ != 0 && batch_count_ < kCandidatesPerChain; ++batch_count_) {
    uint32_t position = static_cast<uint32_t>(std::countr_zero(pending_));
    pending_ &= pending_ - 1;
    batch_[batch_count_] = static_cast<uint8_t>(position);
    SlotWord word = SlotAt(env, chain, position);
    uint32_t length = head;
    if (word.size_class() != kRunClass) {
      uint32_t block = BlockBytes(word.size_class());
      length = whole && (env.references || block <= room) ? block : std::min(head, block);
    }
    chain.ReadByReference(g.RecordAddress(word), length, base + batch_count_ * room);
  }
}

bool Lookup::SawMoved(const Env& env, const Chain& chain) const {
  const Geometry& g = *env.geometry;
  bool moved = false;
  for (uint32_t b = 0; b < 2; ++b) {
    const std::byte* slots = chain.scratch + b * g.bucket_bytes + kWordBytes;
    for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
      moved |= PlainWord(slots + s * kWordBytes) == SlotWord::Moved().raw();
    }
  }
  return moved;
}

uint64_t Lookup::FreeSlot(const Env& env, const Chain& chain) const {
  const Geometry& g = *env.geometry;
  uint32_t empty[2] = {0, 0};  // bit s: slot s
  for (uint32_t b = 0; b < 2; ++b) {
    const std::byte* slots = chain.scratch + b * g.bucket_bytes + kWordBytes;
    for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
      empty[b] |= uint32_t{PlainWord(slots + s * kWordBytes) == 0} << s;
    }
  }
  uint32_t b = std::popcount(empty[1]) > std::popcount(empty[0]) ? 1 : 0;
  if (empty[b] == 0) return 0;
  return g.SlotAddress(placement_.bucket[b], static_cast<uint32_t>(std::countr_zero(empty[b])));
}

}  // namespace dunlin
