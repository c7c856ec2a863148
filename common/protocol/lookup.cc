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
    if (word.Names(FingerprintOf(key.hash), g.heap_bytes)) {
      pending_ |= 1u << position;
    } else if (!word.empty() && !word.moved()) {
      saw_corrupt_ = true;
    }
  }
  // The fabric chose by the same rule, in the same order, from these copies.
  while (pending_ != 0 && batch_count_ < chain.followed) TakeNext();
  return Buckets::kGood;
}

Lookup::Room Lookup::RoomFor(const Env& env, const Key& key, bool whole) {
  const uint32_t base = CandidateOffset(*env.geometry, key.bytes);
  const uint32_t stride = (env.scratch_bytes - base) / kCandidatesPerChain & ~7u;
  const uint32_t longest = env.references ? kLargestSlabBlock : stride;
  return {base, stride, whole ? longest : 0, kMaxRecordHead + key.bytes};
}

void Lookup::AddBucketReads(const Env& env, const Key& key, bool whole, Chain& chain) const {
  const Geometry& g = *env.geometry;
  for (uint32_t b = 0; b < 2; ++b) {
    chain.Read(placement_.bucket[b], g.bucket_bytes, b * g.bucket_bytes);
  }
  // Where READs are loads there are no round trips to be saved.
  if (env.references) return;
  const Room room = RoomFor(env, key, whole);
  chain.follow = {.wanted = true,
                  .fingerprint = FingerprintOf(key.hash),
                  .whole_bytes = room.whole_bytes,
                  .head_bytes = room.head_bytes,
                  .local = room.base,
                  .stride = room.stride,
                  .heap_start = g.heap_offset,
                  .heap_bytes = g.heap_bytes,
                  .swing = {}};
}

void Lookup::TakeNext() {
  batch_[batch_count_++] = static_cast<uint8_t>(std::countr_zero(pending_));
  pending_ &= pending_ - 1;
}

void Lookup::AddCandidateReads(const Env& env, const Key& key, bool whole, Chain& chain) {
  const Room room = RoomFor(env, key, whole);
  for (batch_count_ = 0; pending_ != 0 && batch_count_ < kCandidatesPerChain;) {
    TakeNext();
    const SlotWord word = BatchWord(env, chain, batch_count_ - 1u);
    chain.ReadByReference(env.geometry->RecordAddress(word),
                          RecordReadBytes(word, room.whole_bytes, room.head_bytes),
                          room.base + (batch_count_ - 1u) * room.stride);
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
  const FreePlace place =
      FreePlaceIn(chain.scratch, chain.scratch + g.bucket_bytes, g.slots_per_bucket);
  return place.found ? g.SlotAddress(placement_.bucket[place.bucket], place.slot) : 0;
}

}  // namespace dunlin
