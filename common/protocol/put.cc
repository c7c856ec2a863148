#include "common/protocol/put.h"

#include <algorithm>
#include <utility>

namespace dunlin {
namespace {

constexpr uint8_t kMaxTorn = 8;

}  // namespace

Action Put::Finish(Result result) {
  result_ = result;
  state_ = State::kDone;
  return Action::kDone;
}

Action Put::Step(const Env& env, Chain& chain) {
  switch (state_) {
    case State::kStart:
      return Begin(env, chain);
    case State::kReady:
      return Ready(env, chain);
    default:
      break;
  }
  if (chain.outcome != ChainOutcome::kDone) return OnFailedChain(chain);
  switch (state_) {
    case State::kCheck:
      return OnCheck(env, chain);
    case State::kLock:
      return OnLock(env, chain);
    case State::kHeads:
      return OnHeads(env, chain);
    case State::kSwing:
      return OnSwing(env, chain);
    case State::kInsert:
      return OnInsert(env, chain);
    case State::kConflict:
      return OnConflict(env, chain);
    case State::kRelease:
      return AfterRelease(env, chain);
    default:
      return Finish(Result::kInternal);
  }
}

Action Put::OnFailedChain(const Chain& chain) {
  const bool along = state_ == State::kLock && chain.follow.wanted && chain.follow.swing.wanted;
  bool may_have_linked = along || state_ == State::kSwing || state_ == State::kInsert;
  Result result = ResultOfFailure(chain, may_have_linked);
  if (result == Result::kUnknown && !DUNLIN_MUTATION(kKeepBlockAfterUnknown)) block_ = {};
  return Finish(result);
}

void Put::ReadHead(const Env& env, SlotWord word, Chain& chain) const {
  chain.ReadByReference(env.geometry->RecordAddress(word),
                        RecordReadBytes(word, 0, kMaxRecordHead + key_.bytes),
                        CandidateOffset(*env.geometry, key_.bytes));
}

Action Put::Begin(const Env& env, Chain& chain) {
  if (mode_ == Mode::kIfAbsent && hint_.known() && InHeap(*env.geometry, hint_.word)) {
    chain.Clear();
    ReadHead(env, hint_.word, chain);
    chain.ReadWord(hint_.slot_address);
    state_ = State::kCheck;
    return Action::kPost;
  }
  return Ready(env, chain);
}

Action Put::Ready(const Env& env, Chain& chain) {
  state_ = State::kReady;
  if (failure_ != Result::kOk) return Finish(failure_);
  if (block_.word.empty()) return Action::kNeedBlock;
  if (mode_ == Mode::kAlways && hint_.known() && !hint_.word.frozen()) {
    // The location may be stale: it was current before this call, which is not enough to absorb by.
    expected_ = hint_;
    expected_seen_ = DUNLIN_MUTATION(kAbsorbCached);
    if (!lost_to_.empty()) return Overtaken(env, chain, std::exchange(lost_to_, {}));
    return Swing(env, chain);
  }
  return Cold(env, chain);
}

Action Put::OnCheck(const Env& env, Chain& chain) {
  SlotWord now(chain.work[1].result);
  RecordView view;
  if (now.SameRecord(hint_.word) &&
      MatchRecord(chain.work[0].data, hint_.word, key_, &view) == RecordMatch::kSameKey &&
      !Expired(view.expiry, env.now) && Fresh(env, env.posted)) {
    found_ = {hint_.slot_address, now, view.version, view.expiry};
    stamp_ = env.posted;
    return Finish(Result::kExists);
  }
  return Ready(env, chain);
}

// The record goes out once, in front of the first CAS that may link it.
void Put::AddWrite(const Env& env, Chain& chain) {
  if (written_) return;
  version_ = block_.version;
  uint32_t head_bytes = ComposeHead(chain.scratch + ImageOffset(*env.geometry), block_,
                                    mode_ == Mode::kAlways || DUNLIN_MUTATION(kIfAbsentMarked),
                                    expiry_, key_, value_);
  chain.Write(env.geometry->RecordAddress(block_.word), ImageOffset(*env.geometry), head_bytes,
              value_.data(), static_cast<uint32_t>(value_.size()));
  written_ = true;
}

void Put::AddUnlock(Chain& chain) const {
  chain.CompareSwap(lock_address_, lock_held_.raw(), lock_free_.raw());
}

Action Put::Cold(const Env& env, Chain& chain) {
  if (++attempts_ > env.max_attempts) return Finish(Result::kContended);
  lookup_.Place(env, key_);
  lock_address_ = lookup_.placement().bucket[0];
  // The identity of the directory, never one just observed: whoever holds the lock of another
  // subtable's bucket there guards nothing.
  lock_free_ = lookup_.placement().free_header;
  return LockAndRead(env, chain);
}

Action Put::LockAndRead(const Env& env, Chain& chain) {
  lock_held_ = lock_free_.HeldBy(env.session, env.operation);
  chain.Clear();
  AddWrite(env, chain);
  if (DUNLIN_MUTATION(kReadBeforeLock)) lookup_.AddBucketReads(env, key_, false, chain);
  lock_work_ = static_cast<uint8_t>(chain.count);
  chain.CompareSwap(lock_address_, lock_free_.raw(), lock_held_.raw());
  // Behind the CAS: the lock must be held before the slots are sampled, or another insert of this
  // key could link between the sample and the lock.
  if (!DUNLIN_MUTATION(kReadBeforeLock)) lookup_.AddBucketReads(env, key_, false, chain);
  // What OnPresent and OnAbsent would ask for next.
  chain.follow.swing = {chain.follow.wanted && key_.bytes <= kMostSwingKeyBytes,
                        mode_ == Mode::kAlways, key_.bytes, key_.data, Mine()};
  state_ = State::kLock;
  return Action::kPost;
}

Action Put::OnLock(const Env& env, Chain& chain) {
  holding_ = chain.Swapped(lock_work_);
  const BucketHeader seen(chain.work[lock_work_].result);
  lock_seen_ = seen;
  if (DUNLIN_MUTATION(kLockObserved) && !seen.SameIdentity(lock_free_)) {
    lock_free_ = seen.Unheld();
    return LockAndRead(env, chain);
  }
  bool stale = !seen.SameIdentity(lock_free_) ||
               lookup_.OnBuckets(env, key_, chain) == Lookup::Buckets::kStale;
  if (stale) return ReleaseThen(env, chain, Action::kRefresh, Result::kOk);
  state_ = State::kHeads;
  return OnHeads(env, chain);
}

Action Put::OnHeads(const Env& env, Chain& chain) {
  for (uint32_t i = 0; i < lookup_.batch(); ++i) {
    SlotWord word = lookup_.BatchWord(env, chain, i);
    RecordView view;
    switch (MatchRecord(lookup_.BatchRead(chain, i).data, word, key_, &view)) {
      case RecordMatch::kOtherKey:
        break;
      case RecordMatch::kTorn:
        return OnTorn(env, chain);
      case RecordMatch::kSameKey:
        found_ = {lookup_.BatchSlotAddress(env, i), word, view.version, view.expiry};
        stamp_ = lookup_.stamp();
        return OnPresent(env, chain);
    }
  }
  if (!lookup_.pending()) return OnAbsent(env, chain);
  chain.Clear();
  lookup_.AddCandidateReads(env, key_, false, chain);
  return Action::kPost;
}

Action Put::OnTorn(const Env& env, Chain& chain) {
  if (++torn_ > kMaxTorn) return ReleaseThen(env, chain, Action::kDone, Result::kDataLoss);
  return ReleaseThen(env, chain, Action::kPost, Result::kOk);
}

// Under the lock no other insert of this key can come between, so the sample decides; without it
// absence is not to be believed.
Action Put::OnAbsent(const Env& env, Chain& chain) {
  bool alone =
      holding_ || DUNLIN_MUTATION(kAbsentWithoutLock) ||
      (DUNLIN_MUTATION(kTrustHeaderInRead) && PlainWord(chain.scratch) == lock_free_.raw());
  if (!alone) {
    state_ = State::kReady;
    hint_ = {};
    awaits_lock_ = true;
    return Action::kWait;
  }
  if (lookup_.saw_corrupt()) return ReleaseThen(env, chain, Action::kDone, Result::kDataLoss);
  // A word of the sample that was believed to be another key's may be too old by now.
  if (chain.swung == 0 && !Fresh(env, lookup_.stamp()))
    return ReleaseThen(env, chain, Action::kPost, Result::kOk);
  // A split takes every lock first, so that none of its marks can appear under ours.
  if (lookup_.SawMoved(env, chain))
    return ReleaseThen(env, chain, Action::kDone, Result::kInternal);
  uint64_t slot = lookup_.FreeSlot(env, chain);
  if (slot == 0) return ReleaseThen(env, chain, Action::kDone, Result::kIndexFull);
  insert_address_ = slot;
  // What this chain expects, should its outcome be lost: absence, seen under the lock.
  expected_ = {};
  expected_seen_ = true;
  if (chain.swung != 0) return Swung(env, chain, slot, SlotWord::Empty());
  chain.Clear();
  if (DUNLIN_MUTATION(kUnlockBeforeSlot)) AddUnlock(chain);
  swing_work_ = static_cast<uint8_t>(chain.count);
  chain.CompareSwap(slot, 0, Mine());
  // Behind the CAS: who gets the lock next must see the slot.
  if (!DUNLIN_MUTATION(kUnlockBeforeSlot)) AddUnlock(chain);
  state_ = State::kInsert;
  return Action::kPost;
}

Action Put::OnPresent(const Env& env, Chain& chain) {
  if (chain.swung == 0 && !Fresh(env, stamp_)) {
    return ReleaseThen(env, chain, Action::kPost, Result::kOk);
  }
  if (found_.word.frozen()) {
    return holding_ ? ReleaseThen(env, chain, Action::kDone, Result::kInternal)
                    : ReleaseThen(env, chain, Action::kWait, Result::kOk);
  }
  if (mode_ == Mode::kIfAbsent && !Expired(found_.expiry, env.now)) {
    return ReleaseThen(env, chain, Action::kDone, Result::kExists);
  }
  expected_ = found_;
  expected_seen_ = true;
  if (chain.swung != 0) return Swung(env, chain, found_.slot_address, found_.word);
  return Swing(env, chain);
}

// The chain swung that slot along (Swing in fabric/chain.h), and gave the lock back behind it.
Action Put::Swung(const Env& env, Chain& chain, uint64_t slot_address, SlotWord from) {
  swing_work_ = static_cast<uint8_t>(chain.count - chain.swung);
  const Work& swing = chain.work[swing_work_];
  holding_ = false;
  // Both ends decide alike from the same copies, but if they ever did not, nobody could tell.
  if (swing.remote != slot_address || swing.compare != from.raw()) {
    block_ = {};
    return Finish(Result::kUnknown);
  }
  insert_address_ = slot_address;
  if (from.empty()) return OnInsert(env, chain);
  return OnSwing(env, chain);
}

// An expired record is replaced in its own slot: the same CAS expires it and puts the new one.
Action Put::Swing(const Env& env, Chain& chain) {
  chain.Clear();
  if (!DUNLIN_MUTATION(kWriteAfterSlot)) AddWrite(env, chain);
  swing_work_ = static_cast<uint8_t>(chain.count);
  chain.CompareSwap(expected_.slot_address, expected_.word.raw(), Mine());
  if (DUNLIN_MUTATION(kWriteAfterSlot)) AddWrite(env, chain);
  if (holding_) AddUnlock(chain);
  state_ = State::kSwing;
  return Action::kPost;
}

Action Put::OnSwing(const Env& env, Chain& chain) {
  holding_ = false;
  if (chain.Swapped(swing_work_)) {
    freed_ = {expected_.word, expected_.version};
    return Linked(env, expected_.slot_address);
  }
  if (DUNLIN_MUTATION(kFreeOnFailure)) freed_ = {expected_.word, expected_.version};
  stamp_ = env.posted;
  return Overtaken(env, chain, SlotWord(chain.work[swing_work_].result));
}

// The slot holds `now`, not what was expected; seen at stamp_.
Action Put::Overtaken(const Env& env, Chain& chain, SlotWord now) {
  hint_ = {};
  if (now.moved()) {
    state_ = State::kReady;
    return Action::kRefresh;
  }
  const bool fits = now.Names(FingerprintOf(key_.hash), env.geometry->heap_bytes);
  bool tries_again = mode_ == Mode::kIfAbsent && !DUNLIN_MUTATION(kIfAbsentAbsorbs);
  if (!fits || tries_again) return Cold(env, chain);
  if (now.frozen()) {
    state_ = State::kReady;
    awaits_lock_ = false;
    return Action::kWait;
  }
  found_ = {expected_.slot_address, now, 0, 0};
  chain.Clear();
  ReadHead(env, now, chain);
  state_ = State::kConflict;
  return Action::kPost;
}

Action Put::OnConflict(const Env& env, Chain& chain) {
  RecordView view;
  if (MatchRecord(chain.work[0].data, found_.word, key_, &view) != RecordMatch::kSameKey ||
      !Fresh(env, stamp_)) {
    return Cold(env, chain);
  }
  // A relocation keeps version and mark, a conditional write relied on what it replaced: neither
  // proves that a put took place during this call.
  bool another = view.version != expected_.version || DUNLIN_MUTATION(kAbsorbByRelocation);
  bool unconditional = view.header.unconditional() || DUNLIN_MUTATION(kAbsorbByConditional);
  if (expected_seen_ && another && unconditional) {
    absorbed_ = true;
    found_ = {};
    return Finish(Result::kOk);
  }
  if (++attempts_ > env.max_attempts) return Finish(Result::kContended);
  found_.version = view.version;
  found_.expiry = view.expiry;
  expected_ = found_;
  expected_seen_ = true;
  return Swing(env, chain);
}

Action Put::OnInsert(const Env& env, Chain& chain) {
  holding_ = false;
  if (chain.Swapped(swing_work_)) return Linked(env, insert_address_);
  if (DUNLIN_MUTATION(kInsertFromOldReads) && ++attempts_ < 4) {
    holding_ = true;
    return OnAbsent(env, chain);
  }
  // Another key took the slot. The lock is gone, so what was sampled under it proves nothing now.
  return Cold(env, chain);
}

Action Put::Linked(const Env& env, uint64_t slot_address) {
  found_ = {slot_address, SlotWord(Mine()), version_, expiry_};
  stamp_ = env.posted;
  block_ = {};
  return Finish(Result::kOk);
}

// Gives the lock back if it is held, then does `next`: kDone with `result`, kRefresh or kWait and
// the search again, or kPost: the search again at once.
Action Put::ReleaseThen(const Env& env, Chain& chain, Action next, Result result) {
  after_release_ = next;
  after_release_result_ = result;
  if (!holding_) return AfterRelease(env, chain);
  chain.Clear();
  AddUnlock(chain);
  holding_ = false;
  state_ = State::kRelease;
  return Action::kPost;
}

Action Put::AfterRelease(const Env& env, Chain& chain) {
  hint_ = {};
  switch (after_release_) {
    case Action::kDone:
      return Finish(after_release_result_);
    case Action::kPost:
      return Cold(env, chain);
    default:
      state_ = State::kReady;
      awaits_lock_ = false;
      return after_release_;
  }
}

}  // namespace dunlin
