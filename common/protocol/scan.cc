#include "common/protocol/scan.h"

#include <algorithm>
#include <bit>
#include <span>

#include "common/layout/checksum.h"
#include "common/layout/record.h"

namespace dunlin {
namespace {

constexpr uint8_t kMaxTorn = 8;

}  // namespace

ScanPlace PlaceScan(const Geometry& g, const DirectoryView& directory, ScanCursor at) {
  const uint64_t hash = uint64_t{at.position()} << (64 - kMaxDirectoryDepth);
  const DirectoryEntry entry(directory.entries[PrefixOf(hash, directory.depth)]);
  ScanPlace place;
  place.depth = entry.depth();
  place.position = at.position();
  // The bucket number counts in a subtable of that depth only; in a split one its keys lie
  // anywhere.
  place.bucket = at.depth() == place.depth ? at.bucket() & g.bucket_mask : 0;
  place.buckets = g.bucket_mask + 1 - place.bucket;
  place.address = entry.region_offset() + uint64_t{place.bucket} * g.bucket_bytes;
  place.identity = BucketHeader::Free(PrefixOf(hash, place.depth), place.depth);
  return place;
}

ScanCursor ScanPlace::After(uint32_t skip) const {
  if (skip < buckets) return ScanCursor::Make(position, depth, bucket + skip);
  const uint64_t step = uint64_t{1} << (kMaxDirectoryDepth - depth);
  const uint64_t first = uint64_t{position} / step * step;
  return first + step >= uint64_t{1} << kMaxDirectoryDepth
             ? ScanCursor(ScanCursor::kEnd)
             : ScanCursor::Make(static_cast<uint32_t>(first + step), 0, 0);
}

bool EmptyBucket(const Geometry& g, const std::byte* bucket, BucketHeader identity) {
  uint64_t slots = 0;
  for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
    slots |= PlainWord(bucket + kWordBytes + s * kWordBytes);
  }
  return slots == 0 && BucketHeader(PlainWord(bucket)).SameIdentity(identity);
}

Action ScanBucket::Finish(Result result) {
  result_ = result;
  state_ = State::kDone;
  return Action::kDone;
}

Action ScanBucket::Step(const Env& env, Chain& chain) {
  switch (state_) {
    case State::kStart:
      return ReadBucket(env, chain);
    case State::kDeliver:
      return OnDelivered(env, chain);
    default:
      break;
  }
  if (chain.outcome != ChainOutcome::kDone) return Finish(ResultOfFailure(chain, false));
  return state_ == State::kBucket ? OnBucket(env, chain) : OnRecords(env, chain);
}

Action ScanBucket::ReadBucket(const Env& env, Chain& chain) {
  if (++attempts_ > env.max_attempts) return Finish(Result::kContended);
  const Geometry& g = *env.geometry;
  const ScanPlace place = PlaceScan(g, env.directory, at_);
  identity_ = place.identity;
  next_ = place.After(1);
  chain.Clear();
  chain.Read(place.address, g.bucket_bytes, 0);
  state_ = State::kBucket;
  return Action::kPost;
}

Action ScanBucket::OnBucket(const Env& env, Chain& chain) {
  const Geometry& g = *env.geometry;
  stamp_ = env.posted;
  pending_ = 0;
  if (!BucketHeader(PlainWord(chain.scratch)).SameIdentity(identity_) &&
      !DUNLIN_MUTATION(kScanElsewhere)) {
    state_ = State::kStart;
    return Action::kRefresh;
  }
  // The header was this subtable's when it was read. A slot read much later may be the next one's,
  // for a split's old memory is used again.
  if (!Fresh(env, stamp_)) return ReadBucket(env, chain);
  for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
    SlotWord word(PlainWord(chain.scratch + kWordBytes + s * kWordBytes));
    if (word.moved() && !DUNLIN_MUTATION(kScanDespiteMoved)) {
      state_ = State::kStart;
      return Action::kRefresh;
    }
    if (word.corrupt() || (word.live() && !InHeap(g, word))) return Finish(Result::kDataLoss);
    if (word.live()) pending_ |= 1u << s;
  }
  return AfterBatch(env, chain);
}

Action ScanBucket::AfterBatch(const Env& env, Chain& chain) {
  entry_count_ = 0;
  return pending_ == 0 ? Finish(Result::kOk) : ReadRecords(env, chain);
}

Action ScanBucket::ReadRecords(const Env& env, Chain& chain) {
  const Geometry& g = *env.geometry;
  uint32_t local = g.bucket_bytes;
  chain.Clear();
  batch_count_ = 0;
  while (pending_ != 0 && batch_count_ < kMaxWorks) {
    uint32_t s = static_cast<uint32_t>(std::countr_zero(pending_));
    SlotWord word(PlainWord(chain.scratch + kWordBytes + s * kWordBytes));
    uint64_t length = word.size_class() == kRunClass
                          ? std::min<uint64_t>(g.heap_bytes - word.heap_offset(),
                                               kMaxRecordHead + kMaxKeyBytes + 1)
                          : BlockBytes(word.size_class());
    if (!env.references && local + length > env.scratch_bytes) break;
    pending_ &= pending_ - 1;
    batch_[batch_count_++] = static_cast<uint8_t>(s);
    chain.ReadByReference(g.RecordAddress(word), static_cast<uint32_t>(length), local);
    local += RoundUp8(static_cast<uint32_t>(length));
  }
  state_ = State::kRecords;
  return Action::kPost;
}

Action ScanBucket::OnRecords(const Env& env, Chain& chain) {
  entry_count_ = 0;
  for (uint32_t i = 0; i < batch_count_; ++i) {
    SlotWord word(PlainWord(chain.scratch + kWordBytes + batch_[i] * kWordBytes));
    if (AddEntry(env, word, chain.work[i].data, chain.work[i].length)) continue;
    return OnTorn(env, chain);
  }
  state_ = State::kDeliver;
  return Action::kNeedSink;
}

Action ScanBucket::OnTorn(const Env& env, Chain& chain) {
  if (++torn_ > kMaxTorn) return Finish(Result::kDataLoss);
  return ReadBucket(env, chain);
}

Action ScanBucket::OnDelivered(const Env& env, Chain& chain) {
  if (!Fresh(env, stamp_)) return ReadBucket(env, chain);
  for (uint32_t i = 0; env.references && i < entry_count_; ++i) {
    const Entry& e = entries_[i];
    if (LoadWordAfterReads(e.key - e.header.key_offset()) != e.header.raw())
      return OnTorn(env, chain);
  }
  return AfterBatch(env, chain);
}

// False if the bytes are not the record that the slot named.
bool ScanBucket::AddEntry(const Env& env, SlotWord word, const std::byte* data, uint32_t length) {
  RecordHeader header(LoadWord(data));
  if (header.generation() != word.generation() || !header.plausible()) return false;
  bool run = word.size_class() == kRunClass;
  if (!run && header.record_bytes() > length) return false;
  if (run && header.value_offset() > length) return false;
  uint64_t expiry = header.expires() ? LoadWord(data + kRecordPrefixBytes) : 0;
  if (Expired(expiry, env.now)) return true;
  uint64_t version = LoadWord(data + 8);
  uint64_t checksum = LoadWord(data + 16);
  std::span<const std::byte> key{data + header.key_offset(), header.key_bytes()};
  std::span<const std::byte> value{data + header.value_offset(), run ? 0 : header.value_bytes()};
  // Bytes that crossed a wire; those of a run are checked when it is read by its key.
  if (!env.references && !run && checksum != RecordChecksum(header, version, expiry, key, value)) {
    return false;
  }
  Entry& e = entries_[entry_count_++];
  e.key = key.data();
  e.key_bytes = header.key_bytes();
  e.value_bytes = header.value_bytes();
  e.value = run ? nullptr : value.data();
  e.version = version;
  e.expiry = expiry;
  e.header = header;
  return true;
}

}  // namespace dunlin
