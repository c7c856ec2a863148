#include "common/protocol/get.h"

#include <algorithm>
#include <cstring>

namespace dunlin {
namespace {

constexpr uint32_t kPieceBytes = 1u << 20;
// A torn record is a broken promise of the reuse rules or damage; a few looks tell which.
constexpr uint16_t kMaxTorn = 8;

}  // namespace

Action Get::Finish(Result result) {
  result_ = result;
  state_ = State::kDone;
  return Action::kDone;
}

Action Get::Step(const Env& env, Chain& chain) {
  if (state_ == State::kStart) {
    if (!hint_.known()) return Cold(env, chain);
    if (!InHeap(*env.geometry, hint_.word)) return Cold(env, chain);
    chain.Clear();
    ReadRecord(env, hint_.word, chain);
    chain.ReadWord(hint_.slot_address);
    state_ = State::kKnown;
    return Action::kPost;
  }
  switch (state_) {
    case State::kCold:
      return Cold(env, chain);
    case State::kSize:
      if (!Fresh(env, stamp_) && !DUNLIN_MUTATION(kSizeOfAnyAge)) return Cold(env, chain);
      state_ = State::kDeliver;
      return Action::kNeedSink;
    case State::kDeliver:
      return Deliver(env, chain);
    case State::kConfirm:
      return Confirm(env, chain);
    case State::kAsked:
      return Cold(env, chain);
    default:
      break;
  }
  if (chain.outcome != ChainOutcome::kDone) {
    return Finish(ResultOfFailure(chain, false));
  }
  switch (state_) {
    case State::kKnown:
      return OnKnown(env, chain);
    case State::kReread:
      return OnReread(env, chain);
    case State::kBuckets:
      return OnBuckets(env, chain);
    case State::kRecords:
      return OnRecords(env, chain);
    case State::kPiece:
      return OnPiece(env, chain);
    case State::kExpire:
      if (chain.Swapped(0)) freed_ = {found_.word, found_.version};
      if (DUNLIN_MUTATION(kExpireIgnoresCas)) return Finish(Result::kNotFound);
      return Cold(env, chain);
    default:
      return Finish(Result::kInternal);
  }
}

void Get::ReadRecord(const Env& env, SlotWord word, Chain& chain) const {
  const uint32_t local = CandidateOffset(*env.geometry, key_.bytes);
  const uint32_t longest = env.references ? kLargestSlabBlock : env.scratch_bytes - local;
  const uint32_t whole = mode_ == GetMode::kHead ? 0 : longest;
  chain.ReadByReference(env.geometry->RecordAddress(word),
                        RecordReadBytes(word, whole, kMaxRecordHead + key_.bytes), local);
}

Action Get::OnKnown(const Env& env, Chain& chain) {
  SlotWord now(chain.work[1].result);
  if (DUNLIN_MUTATION(kMissFromEmptySlot) && now.empty()) return Finish(Result::kNotFound);
  if (now.SameRecord(hint_.word) || DUNLIN_MUTATION(kKnownWithoutSlot)) {
    // The slot names the record during this call, so it is current, whenever its bytes were read: a
    // location is never kept long enough for (offset, generation) to recur.
    if (MatchRecord(chain.work[0].data, hint_.word, key_, &view_) == RecordMatch::kSameKey) {
      found_ = {hint_.slot_address, now, view_.version, view_.expiry};
      stamp_ = env.posted;
      return Accept(env, chain, chain.work[0].length);
    }
    return Cold(env, chain);
  }
  const bool fits = now.Names(FingerprintOf(key_.hash), env.geometry->heap_bytes);
  if (!fits) return Cold(env, chain);
  found_ = {hint_.slot_address, now, 0, 0};
  stamp_ = env.posted;
  chain.Clear();
  ReadRecord(env, now, chain);
  state_ = State::kReread;
  return Action::kPost;
}

Action Get::OnReread(const Env& env, Chain& chain) {
  if (MatchRecord(chain.work[0].data, found_.word, key_, &view_) != RecordMatch::kSameKey) {
    return Cold(env, chain);
  }
  found_.version = view_.version;
  found_.expiry = view_.expiry;
  return Accept(env, chain, chain.work[0].length);
}

Action Get::Cold(const Env& env, Chain& chain) {
  if (++attempts_ > env.max_attempts) return Finish(Result::kContended);
  lookup_.Place(env, key_);
  chain.Clear();
  lookup_.AddBucketReads(env, key_, mode_ != GetMode::kHead, chain);
  state_ = State::kBuckets;
  return Action::kPost;
}

Action Get::OnBuckets(const Env& env, Chain& chain) {
  if (lookup_.OnBuckets(env, key_, chain) == Lookup::Buckets::kStale) {
    state_ = State::kCold;
    return Action::kRefresh;
  }
  state_ = State::kRecords;
  return OnRecords(env, chain);
}

Action Get::OnRecords(const Env& env, Chain& chain) {
  for (uint32_t i = 0; i < lookup_.batch(); ++i) {
    SlotWord word = lookup_.BatchWord(env, chain, i);
    const Work& read = lookup_.BatchRead(chain, i);
    switch (MatchRecord(read.data, word, key_, &view_)) {
      case RecordMatch::kOtherKey:
        break;
      case RecordMatch::kTorn:
        return OnTorn(env, chain);
      case RecordMatch::kSameKey:
        found_ = {lookup_.BatchSlotAddress(env, i), word, view_.version, view_.expiry};
        stamp_ = lookup_.stamp();
        return Accept(env, chain, read.length);
    }
  }
  if (!lookup_.pending()) return OnMiss(env, chain);
  chain.Clear();
  lookup_.AddCandidateReads(env, key_, mode_ != GetMode::kHead, chain);
  return Action::kPost;
}

Action Get::OnMiss(const Env& env, Chain& chain) {
  if (!Fresh(env, lookup_.stamp())) return Cold(env, chain);
  if (lookup_.SawMoved(env, chain) && !DUNLIN_MUTATION(kMissDespiteMoved)) {
    state_ = State::kCold;
    return Action::kRefresh;
  }
  return Finish(lookup_.saw_corrupt() ? Result::kDataLoss : Result::kNotFound);
}

Action Get::OnTorn(const Env& env, Chain& chain) {
  if (++torn_ > kMaxTorn) return Finish(Result::kDataLoss);
  return Cold(env, chain);
}

Action Get::Accept(const Env& env, Chain& chain, uint32_t bytes_read) {
  if (Expired(view_.expiry, env.now)) return Judge(env, chain);
  copied_ = 0;
  whole_ = view_.header.record_bytes() <= bytes_read;
  if (mode_ == GetMode::kHead) {
    state_ = State::kConfirm;
    return Action::kVerify;
  }
  return Deliver(env, chain);
}

Action Get::Deliver(const Env& env, Chain& chain) {
  if (mode_ == GetMode::kCopy && sink_bytes_ < value_bytes()) {
    // The driver acts on the size, so that it must be the record's and no other's.
    state_ = State::kSize;
    return Action::kVerify;
  }
  if (!whole_) return NextPiece(env, chain);
  value_ = view_.data + view_.header.value_offset();
  if (mode_ == GetMode::kCopy) {
    CopyBytes(sink_, value_, value_bytes());
    value_ = sink_;
  }
  state_ = State::kConfirm;
  return Action::kVerify;
}

// Each piece brings the slot along: while it names the record, the age of the whole is that of the
// last look; once it doesn't, the record still stands for the grace period from the look before.
Action Get::NextPiece(const Env& env, Chain& chain) {
  uint64_t left = value_bytes() - copied_;
  uint64_t address = env.geometry->RecordAddress(found_.word);
  uint64_t end = found_.word.heap_offset() + view_.header.record_bytes();
  if (end > env.geometry->heap_bytes) return OnTorn(env, chain);
  uint32_t piece =
      static_cast<uint32_t>(mode_ == GetMode::kView ? left : std::min<uint64_t>(left, kPieceBytes));
  chain.Clear();
  Work& read = chain.Read(address + view_.header.value_offset() + copied_, piece, 0);
  read.by_reference = env.references;
  read.sink = env.references ? nullptr : sink_ + copied_;
  chain.ReadWord(found_.slot_address);
  state_ = State::kPiece;
  return Action::kPost;
}

Action Get::OnPiece(const Env& env, Chain& chain) {
  if (SlotWord(chain.work[1].result).SameRecord(found_.word)) stamp_ = env.posted;
  if (!Fresh(env, stamp_)) return Cold(env, chain);
  uint32_t piece = chain.work[0].length;
  if (mode_ == GetMode::kView) {
    value_ = chain.work[0].data;
  } else {
    if (env.references) std::memcpy(sink_ + copied_, chain.work[0].data, piece);
    value_ = sink_;
  }
  copied_ += piece;
  if (copied_ < value_bytes()) return NextPiece(env, chain);
  state_ = State::kConfirm;
  return Action::kVerify;
}

Action Get::Confirm(const Env& env, Chain& chain) {
  if (!Fresh(env, stamp_)) return Cold(env, chain);
  if (env.references) {
    // The bytes crossed no wire: it is enough that the block still is what it was before the copy.
    if (LoadWordAfterReads(view_.data) != view_.header.raw()) return OnTorn(env, chain);
  } else if (mode_ == GetMode::kCopy && !ChecksumFits(view_, key_, value_)) {
    return OnTorn(env, chain);
  }
  return Finish(Result::kOk);
}

// Whoever judges a record expired unlinks it and looks again: else two clocks could disagree, and a
// reader be told of an absence that another one after it doesn't see.
Action Get::Judge(const Env& env, Chain& chain) {
  if (DUNLIN_MUTATION(kExpireWithoutCas)) return Finish(Result::kNotFound);
  if (found_.word.frozen() && !DUNLIN_MUTATION(kJudgeFrozen)) {
    state_ = State::kCold;
    return Action::kWait;
  }
  if (!env.can_write) {
    state_ = State::kAsked;
    return Action::kAskExpire;
  }
  if (!Fresh(env, stamp_)) return Cold(env, chain);
  chain.Clear();
  chain.CompareSwap(found_.slot_address, found_.word.raw(), 0);
  state_ = State::kExpire;
  return Action::kPost;
}

}  // namespace dunlin
