#include "server/growth/split.h"

#include <algorithm>
#include <span>

#include "common/base/check.h"
#include "common/base/mutation.h"
#include "common/base/prefetch.h"
#include "common/layout/checksum.h"
#include "common/layout/record.h"
#include "common/layout/word.h"
#include "common/protocol/machine.h"

namespace dunlin {
namespace {

constexpr uint32_t kBatch = 64;
// Records whose key's bytes are asked for ahead of the one that is hashed.
constexpr uint32_t kAhead = 12;
constexpr uint32_t kNoChild = 2;

// A subtable as an array of words: each bucket is its header and its slots, without gaps.
uint32_t Stride(const Geometry& g) { return g.bucket_bytes / kWordBytes; }
uint32_t WordsOf(const Geometry& g) { return (g.bucket_mask + 1) * Stride(g); }
bool IsHeader(const Geometry& g, uint32_t position) { return position % Stride(g) == 0; }

}  // namespace

std::string_view NameOf(SplitFault fault) {
  switch (fault) {
    case SplitFault::kNone:
      return "none";
    case SplitFault::kAtomics:
      return "the region's atomics fail";
    case SplitFault::kIdentity:
      return "a bucket's header bears another identity";
    case SplitFault::kSlot:
      return "a slot holds no word of this layout";
    case SplitFault::kRecord:
      return "a slot names no record whose key belongs there";
    case SplitFault::kForeign:
      return "a protected word was changed";
  }
  return "?";
}

Split::Split(uint64_t old_address, uint32_t prefix, uint32_t depth, Fresh left, Fresh right,
             uint32_t owner)
    : old_(old_address), child_{left, right}, prefix_(prefix), depth_(depth), owner_(owner) {
  DUNLIN_CHECK(depth < kMaxDirectoryDepth, "a subtable of the greatest depth can't be split");
  if (DUNLIN_MUTATION(kSplitWithoutLocks)) state_ = State::kFreeze;
}

// That of the old subtable, for kNoChild.
BucketHeader Split::Identity(uint32_t child) const {
  return child == kNoChild ? BucketHeader::Free(prefix_, depth_)
                           : BucketHeader::Free(prefix_ << 1 | child, depth_ + 1);
}

void Split::Note(SplitFault fault, uint64_t address) {
  if (fault_ != SplitFault::kNone) return;
  fault_ = fault;
  fault_address_ = address;
}

void Split::GoBack() {
  state_ = state_ == State::kFill     ? State::kClean
           : state_ == State::kFreeze ? State::kThawOld
                                      : State::kGiveBack;
  cursor_ = 0;
}

bool Split::Cancel() {
  if (state_ > State::kFill) return false;
  cancelled_ = true;
  GoBack();
  return true;
}

bool Split::blocks_writes() const {
  return holds_ && state_ != State::kRetire && state_ != State::kDone && state_ != State::kGivenUp;
}

Split::State Split::After(State state) const {
  switch (state) {
    case State::kLock:
      return DUNLIN_MUTATION(kSplitWithoutFreezing) ? State::kFill : State::kFreeze;
    case State::kFill:
      return DUNLIN_MUTATION(kSplitMovedUnpublished) ? State::kMove : State::kPublish;
    case State::kPublish:
      if (DUNLIN_MUTATION(kSplitMovedUnpublished)) return State::kThaw;
      return DUNLIN_MUTATION(kSplitThawBeforeMoved) ? State::kThaw : State::kMove;
    case State::kMove:
      if (DUNLIN_MUTATION(kSplitMovedUnpublished)) return State::kPublish;
      if (DUNLIN_MUTATION(kSplitThawBeforeMoved)) return State::kRetire;
      return DUNLIN_MUTATION(kSplitUnlockBeforeThaw) ? State::kUnlock : State::kThaw;
    case State::kThaw:
      return DUNLIN_MUTATION(kSplitUnlockBeforeThaw) ? State::kRetire : State::kUnlock;
    case State::kUnlock:
      if (DUNLIN_MUTATION(kSplitThawBeforeMoved)) return State::kMove;
      return DUNLIN_MUTATION(kSplitUnlockBeforeThaw) ? State::kThaw : State::kRetire;
    case State::kGiveBack:
      return State::kGivenUp;
    case State::kDone:
    case State::kGivenUp:
      return state;
    default:
      return static_cast<State>(static_cast<uint8_t>(state) + 1);
  }
}

// How many positions the state under way goes through.
uint32_t Split::End(const Geometry& g) const {
  switch (state_) {
    case State::kLock:
    case State::kRetire:
    case State::kGiveBack:
      return g.bucket_mask + 1;
    case State::kUnlock:
      return 2 * (g.bucket_mask + 1);
    case State::kFreeze:
    case State::kMove:
    case State::kThawOld:
      return WordsOf(g);
    case State::kFill:
    case State::kThaw:
    case State::kClean:
      return 2 * WordsOf(g);
    case State::kPublish:
    case State::kDone:
    case State::kGivenUp:
      return 0;
  }
  DUNLIN_UNREACHABLE();
}

Split::Progress Split::Step(SplitEnv& env, uint32_t most) {
  const Geometry& g = *env.geometry;
  waits_ = false;
  for (uint32_t i = 0; state_ == State::kFill && most > 1 && i < kAhead; ++i) {
    PrefetchRecordAt(env, cursor_ / 2 + i);
  }
  while (most != 0 && !waits_) {
    if (state_ == State::kDone) return Progress::kDone;
    if (state_ == State::kGivenUp) return cancelled_ ? Progress::kCancelled : Progress::kFault;
    const State state = state_;
    Run(env, &most);
    if (state_ != state || cursor_ < End(g)) continue;
    cursor_ = 0;
    state_ = After(state);
    if (state_ == State::kPublish) {
      state_ = After(state_);
      return Progress::kPublish;
    }
  }
  return waits_ ? Progress::kWait : Progress::kMore;
}

// Brings the words from the cursor on to where the state wants them.
void Split::Run(SplitEnv& env, uint32_t* most) {
  AtomicAgent::Swap swaps[kBatch];
  uint32_t positions[kBatch];
  const uint32_t end = End(*env.geometry);
  const State state = state_;
  while (cursor_ < end && *most != 0 && !waits_) {
    uint32_t count = 0;
    for (; cursor_ < end && *most != 0 && count < kBatch; ++cursor_) {
      const bool wanted = Want(env, cursor_, &swaps[count]);
      if (state_ != state) return;
      if (waits_) break;
      --*most;
      if (wanted) positions[count++] = cursor_;
    }
    if (count != 0 && !Execute(env, std::span(swaps, count), positions)) return;
  }
}

// False: the atomics failed.
bool Split::Execute(SplitEnv& env, std::span<AtomicAgent::Swap> swaps, const uint32_t* positions) {
  env.error = env.atomics->CompareSwapAll(swaps);
  if (!env.error.ok()) {
    fault_ = SplitFault::kAtomics;
    fault_address_ = swaps[0].address;
    cancelled_ = false;
    state_ = State::kGivenUp;
    return false;
  }
  if (state_ == State::kLock) holds_ = true;
  for (size_t i = 0; i < swaps.size(); ++i) {
    if (swaps[i].found == swaps[i].compare) continue;
    // Somebody else changed it: look at it again. The choice is that of a later word by now.
    cursor_ = state_ == State::kFill ? positions[i] & ~1u : positions[i];
    waits_ = false;
    break;
  }
  return true;
}

bool Split::Want(SplitEnv& env, uint32_t i, AtomicAgent::Swap* swap) {
  const Geometry& g = *env.geometry;
  const uint32_t buckets = g.bucket_mask + 1;
  const BucketHeader old_free = Identity(kNoChild);
  switch (state_) {
    case State::kLock:
      return WantLocked(env, i, swap);
    case State::kFreeze:
      return !IsHeader(g, i) && WantFrozen(env, i, swap);
    case State::kFill:
      return WantFilled(env, i, swap);
    case State::kMove:
      return !IsHeader(g, i) && WantMoved(env, i, swap);
    case State::kThaw:
      return !IsHeader(g, i) && WantThawed(env, ChildWordAddress(g, i), swap);
    case State::kUnlock: {
      const BucketHeader free = Identity(i / buckets);
      const uint64_t address = child_[i / buckets].address + uint64_t{i % buckets} * g.bucket_bytes;
      return WantHeader(env, address, free, free.raw(), swap);
    }
    case State::kRetire:
      return WantHeader(env, old_ + uint64_t{i} * g.bucket_bytes, old_free,
                        DUNLIN_MUTATION(kSplitKeepsIdentity) ? old_free.raw() : 0, swap);
    case State::kClean:
      return WantClean(env, i, swap);
    case State::kThawOld:
      return !IsHeader(g, i) && WantThawed(env, old_ + uint64_t{i} * kWordBytes, swap);
    case State::kGiveBack:
      return WantGivenBack(env, i, swap);
    case State::kPublish:
    case State::kDone:
    case State::kGivenUp:
      break;
  }
  return false;
}

bool Split::WantLocked(const SplitEnv& env, uint32_t bucket, AtomicAgent::Swap* swap) {
  const uint64_t address = old_ + uint64_t{bucket} * env.geometry->bucket_bytes;
  const BucketHeader free = Identity(kNoChild);
  const BucketHeader mine = free.HeldBy(owner_, 0);
  const BucketHeader now(LoadWord(env.base + address));
  if (now == mine) return false;
  if (!now.SameIdentity(free)) {
    Note(SplitFault::kIdentity, address);
    GoBack();
    return false;
  }
  if (now.held()) {
    lock_address_ = address;
    waits_ = true;
    return false;
  }
  *swap = {address, free.raw(), mine.raw(), 0};
  return true;
}

// Updates and removes go on until a word is frozen, so it is looked at until it is, or is empty.
bool Split::WantFrozen(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap) {
  const uint64_t address = old_ + uint64_t{position} * kWordBytes;
  const SlotWord now(LoadWord(env.base + address));
  if (now.empty() || (now.live() && now.frozen())) return false;
  if (!now.live()) {
    Note(SplitFault::kSlot, address);
    GoBack();
    return false;
  }
  *swap = {address, now.raw(), now.Frozen().raw(), 0};
  return true;
}

// Positions count the words of the old subtable twice: once for each child.
bool Split::WantFilled(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap) {
  const Geometry& g = *env.geometry;
  const uint32_t child = position % 2;
  const uint32_t at = position / 2;
  const uint64_t offset = uint64_t{at} * kWordBytes;
  const bool open = DUNLIN_MUTATION(kSplitChildrenOpen);
  if (IsHeader(g, at)) {
    const BucketHeader free = Identity(child);
    return SetChildWord(env, child, offset, open ? free.raw() : free.HeldBy(owner_, 0).raw(), swap);
  }
  const SlotWord word(LoadWord(env.base + old_ + offset));
  if (child == 0) {
    PrefetchRecordAt(env, at + kAhead);
    if (!Choose(env, word, at)) return false;
  }
  const SlotWord there = open ? word.Thawed() : word.Frozen();
  return SetChildWord(env, child, offset, choice_ == child ? there.raw() : 0, swap);
}

// Nobody sees a subtable that was never used before it is published.
bool Split::SetChildWord(const SplitEnv& env, uint32_t child, uint64_t offset, uint64_t to,
                         AtomicAgent::Swap* swap) const {
  const uint64_t address = child_[child].address + offset;
  const uint64_t now = LoadWord(env.base + address);
  if (now == to) return false;
  if (!child_[child].retired) {
    StoreWord(env.base + address, to);
    return false;
  }
  *swap = {address, now, to, 0};
  return true;
}

bool Split::WantMoved(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap) {
  const uint64_t address = old_ + uint64_t{position} * kWordBytes;
  const SlotWord now(LoadWord(env.base + address));
  if (now.moved() || (now.empty() && DUNLIN_MUTATION(kSplitEmptyNotMoved))) return false;
  if (!now.empty() && !now.frozen()) Note(SplitFault::kForeign, address);
  *swap = {address, now.raw(), SlotWord::Moved().raw(), 0};
  return true;
}

bool Split::WantThawed(const SplitEnv& env, uint64_t address, AtomicAgent::Swap* swap) const {
  const SlotWord now(LoadWord(env.base + address));
  if (!now.live() || !now.frozen()) return false;
  *swap = {address, now.raw(), now.Thawed().raw(), 0};
  return true;
}

// A header that only this split may change, while it holds it.
bool Split::WantHeader(const SplitEnv& env, uint64_t address, BucketHeader identity, uint64_t to,
                       AtomicAgent::Swap* swap) {
  const uint64_t now = LoadWord(env.base + address);
  if (now == to) return false;
  if (now != identity.HeldBy(owner_, 0).raw()) Note(SplitFault::kForeign, address);
  *swap = {address, now, to, 0};
  return true;
}

bool Split::WantGivenBack(const SplitEnv& env, uint32_t bucket, AtomicAgent::Swap* swap) const {
  const uint64_t address = old_ + uint64_t{bucket} * env.geometry->bucket_bytes;
  const BucketHeader free = Identity(kNoChild);
  const BucketHeader mine = free.HeldBy(owner_, 0);
  if (LoadWord(env.base + address) != mine.raw()) return false;
  *swap = {address, mine.raw(), free.raw(), 0};
  return true;
}

// A child's memory as it was: all zero, or retired.
bool Split::WantClean(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap) const {
  const uint32_t words = WordsOf(*env.geometry);
  const uint32_t child = position / words;
  const uint32_t at = position % words;
  const bool moved = child_[child].retired && !IsHeader(*env.geometry, at);
  return SetChildWord(env, child, uint64_t{at} * kWordBytes, moved ? SlotWord::Moved().raw() : 0,
                      swap);
}

// Positions count through one child, then the other.
uint64_t Split::ChildWordAddress(const Geometry& g, uint32_t position) const {
  const uint32_t words = WordsOf(g);
  return child_[position / words].address + uint64_t{position % words} * kWordBytes;
}

// Which child gets the word of the old subtable at that position. False: the split is given up.
bool Split::Choose(const SplitEnv& env, SlotWord word, uint32_t position) {
  const Geometry& g = *env.geometry;
  choice_ = kNoChild;
  if (word.empty()) return true;
  const uint64_t address = old_ + uint64_t{position} * kWordBytes;
  if (!word.live() || (!word.frozen() && !DUNLIN_MUTATION(kSplitWithoutFreezing))) {
    Note(SplitFault::kForeign, address);
    GoBack();
    return false;
  }
  choice_ = ChildOf(env, word, position / Stride(g));
  if (choice_ == kNoChild) {
    Note(SplitFault::kRecord, address);
    GoBack();
    return false;
  }
  ++live_[choice_];
  return true;
}

// By the next bit of the hash of the key, which is in the record. Peers write there, so nothing of
// it is believed that does not fit together.
uint32_t Split::ChildOf(const SplitEnv& env, SlotWord word, uint32_t bucket) const {
  const Geometry& g = *env.geometry;
  if (!InHeap(g, word)) return kNoChild;
  const std::byte* record = env.base + g.RecordAddress(word);
  const RecordHeader header(LoadWord(record));
  const uint64_t room = word.size_class() == kRunClass ? g.heap_bytes - word.heap_offset()
                                                       : BlockBytes(word.size_class());
  if (header.generation() != word.generation() || !header.plausible() ||
      header.record_bytes() > room) {
    return kNoChild;
  }
  const uint64_t hash = HashKey({record + header.key_offset(), header.key_bytes()}, g.hash_seed);
  const BucketPair at = BucketsOf(g, hash);
  const bool belongs = FingerprintOf(hash) == word.fingerprint() &&
                       (at.first == bucket || at.second == bucket) &&
                       PrefixOf(hash, depth_) == prefix_;
  if (!belongs) return kNoChild;
  if (DUNLIN_MUTATION(kSplitByFingerprint)) return FingerprintOf(hash) & 1;
  return PrefixOf(hash, depth_ + 1) & 1;
}

void Split::PrefetchRecordAt(const SplitEnv& env, uint32_t position) const {
  const Geometry& g = *env.geometry;
  if (position >= WordsOf(g) || IsHeader(g, position)) return;
  const SlotWord word(LoadWordRelaxed(env.base + old_ + uint64_t{position} * kWordBytes));
  if (!word.live() || !InHeap(g, word)) return;
  const std::byte* record = env.base + g.RecordAddress(word);
  PrefetchLine(record);
  PrefetchLine(record + kMaxRecordHead);
}

}  // namespace dunlin
