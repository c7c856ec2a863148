#include "common/protocol/modify.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace dunlin {

Action Modify::Finish(Result result) {
  result_ = result;
  state_ = State::kDone;
  return Action::kDone;
}

Action Modify::Step(const Env& env, Chain& chain) {
  switch (state_) {
    case State::kStart:
      if (BlindAllowed(env)) {
        target_ = hint_;
        blind_ = true;
        return Ready(env, chain);
      }
      return Find(env, chain, hint_);
    case State::kFind:
      return Find(env, chain, {});
    case State::kFinding:
      return StepGet(env, chain);
    case State::kReady:
      return Ready(env, chain);
    case State::kSwung:
      return OnSwung(env, chain);
    case State::kDone:
      break;
  }
  return Finish(Result::kInternal);
}

// A known location may be swung unseen where all that the operation needs to know of the record is
// in the location; that its word is still there is what the CAS finds out.
bool Modify::BlindAllowed(const Env& env) const {
  if (!hint_.known() || hint_.word.frozen() || Expired(hint_.expiry, env.now)) return false;
  switch (request_.kind) {
    case ModifyKind::kReplace:
    case ModifyKind::kRemove:
      return true;
    case ModifyKind::kCompareAndSet:
      return hint_.version == request_.expected_version;
    default:
      return false;
  }
}

Action Modify::Find(const Env& env, Chain& chain, const Location& hint) {
  if (++attempts_ > env.max_attempts) return Finish(Result::kContended);
  GetMode mode = GetMode::kHead;
  if (request_.kind == ModifyKind::kAdd) mode = GetMode::kCopy;
  if (request_.kind == ModifyKind::kTouch) {
    mode = env.references ? GetMode::kView : GetMode::kCopy;
  }
  get_ = Get(request_.key, mode, hint);
  state_ = State::kFinding;
  return StepGet(env, chain);
}

Action Modify::StepGet(const Env& env, Chain& chain) {
  if (request_.kind == ModifyKind::kAdd) {
    get_.SupplySink(reinterpret_cast<std::byte*>(text_), sizeof text_);
  }
  Action action = get_.Step(env, chain);
  if (!get_.freed().word.empty()) freed_ = get_.TakeFreed();
  // More than an integer's digits: no need to see the rest.
  if (action == Action::kNeedSink && request_.kind == ModifyKind::kAdd) {
    return Finish(Result::kNotInteger);
  }
  if (action != Action::kDone) return action;
  if (get_.result() != Result::kOk) return Finish(get_.result());
  return Decide(env, chain);
}

Action Modify::Decide(const Env& env, Chain& chain) {
  target_ = get_.found();
  stamp_ = get_.stamp();
  blind_ = false;
  expiry_ = request_.expiry;
  if (request_.kind == ModifyKind::kCompareAndSet && target_.version != request_.expected_version) {
    version_ = target_.version;
    return Finish(Result::kVersionMismatch);
  }
  if (request_.kind == ModifyKind::kAdd) return DecideAdd(env, chain);
  return Ready(env, chain);
}

Action Modify::DecideAdd(const Env& env, Chain& chain) {
  int64_t value = 0;
  const char* end = text_ + get_.value_bytes();
  auto [stop, error] = std::from_chars(text_, end, value);
  if (error != std::errc() || stop != end) return Finish(Result::kNotInteger);
  if (__builtin_add_overflow(value, request_.delta, &sum_)) return Finish(Result::kOverflow);
  char* last = std::to_chars(text_, text_ + sizeof text_, sum_).ptr;
  digits_ = static_cast<uint8_t>(last - text_);
  expiry_ = target_.expiry;
  return Ready(env, chain);
}

uint64_t Modify::block_bytes() const {
  return RecordBytes(request_.key.bytes, NewValue().size(),
                     blind_ ? request_.expiry != 0 : expiry_ != 0);
}

// Whether blocks for records of so many bytes are of one kind: of a class, or runs of as many
// pages.
bool Modify::SameRoom(uint64_t a, uint64_t b) {
  return ClassFor(a) == ClassFor(b) && (ClassFor(a) != kRunClass || RunBytes(a) == RunBytes(b));
}

std::span<const std::byte> Modify::NewValue() const {
  switch (request_.kind) {
    case ModifyKind::kAdd:
      return {reinterpret_cast<const std::byte*>(text_), digits_};
    case ModifyKind::kTouch:
      return {get_.value(), get_.value_bytes()};
    case ModifyKind::kRemove:
      return {};
    default:
      return request_.value;
  }
}

Action Modify::Ready(const Env& env, Chain& chain) {
  state_ = State::kReady;
  if (failure_ != Result::kOk) return Finish(failure_);
  if (blind_) expiry_ = request_.expiry;
  bool writes = request_.kind != ModifyKind::kRemove;
  // After a lost race the record may be of another size: the block in hand was for the one before.
  const bool fits = !block_.word.empty() && SameRoom(block_for_, block_bytes());
  if (writes && !fits) return Action::kNeedBlock;
  if (target_.word.frozen() && !DUNLIN_MUTATION(kSwingFrozen)) {
    state_ = State::kFind;
    return Action::kWait;
  }
  if (!blind_ && !Fresh(env, stamp_)) return Find(env, chain, target_);
  chain.Clear();
  uint64_t mine = 0;
  if (writes) {
    version_ = block_.version;
    mine = block_.word.WithFingerprint(FingerprintOf(request_.key.hash)).raw();
    std::span<const std::byte> value = NewValue();
    uint32_t head = ComposeHead(chain.scratch + ImageOffset(*env.geometry), block_,
                                DUNLIN_MUTATION(kModifyMarked), expiry_, request_.key, value);
    chain.Write(env.geometry->RecordAddress(block_.word), ImageOffset(*env.geometry), head,
                value.data(), static_cast<uint32_t>(value.size()));
  }
  swing_work_ = static_cast<uint8_t>(chain.count);
  chain.CompareSwap(target_.slot_address, target_.word.raw(), mine);
  state_ = State::kSwung;
  return Action::kPost;
}

Action Modify::OnSwung(const Env& env, Chain& chain) {
  if (chain.outcome != ChainOutcome::kDone) {
    Result result = ResultOfFailure(chain, true);
    if (result == Result::kUnknown && !DUNLIN_MUTATION(kKeepBlockAfterUnknown)) block_ = {};
    return Finish(result);
  }
  if (chain.Swapped(swing_work_)) {
    freed_ = {target_.word, target_.version};
    if (request_.kind != ModifyKind::kRemove) {
      found_ = {target_.slot_address, SlotWord(chain.work[swing_work_].swap), version_, expiry_};
      stamp_ = env.posted;
      block_ = {};
    }
    return Finish(Result::kOk);
  }
  SlotWord now(chain.work[swing_work_].result);
  if (now.moved()) {
    state_ = State::kFind;
    return Action::kRefresh;
  }
  if (DUNLIN_MUTATION(kModifyMissFromEmptySlot) && now.empty()) return Finish(Result::kNotFound);
  bool fits = now.live() && now.fingerprint() == FingerprintOf(request_.key.hash);
  return Find(env, chain, fits ? Location{target_.slot_address, now, 0, 0} : Location{});
}

}  // namespace dunlin
