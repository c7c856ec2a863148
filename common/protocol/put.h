#pragma once

#include <cstdint>
#include <span>

#include "common/protocol/lookup.h"
#include "common/protocol/machine.h"
#include "common/protocol/record_view.h"

namespace dunlin {

// Writes a key that may be new: an unconditional put, or put-if-absent.
//
//   location known    1 RTT  [WRITE record, CAS slot old->new]            (put)
//                            [READ record head, READ slot]                (put-if-absent, present)
//   cold, present     3 RTT  [WRITE record, CAS lock b1, READ b1, READ b2] [READ heads]
//                            [CAS slot old->new, CAS unlock]
//   cold, absent      2 RTT  [WRITE record, CAS lock b1, READ b1, READ b2] [CAS slot 0->new, CAS
//   unlock]
//                            and one more if a fingerprint fits that is not the key's
//
// The lock of a key's first bucket is what keeps the key from getting two slots; it is taken on
// speculation, guessed from the directory. Only an insert needs it.
//
// Absorption bounds an unconditional put under contention: when its CAS of W, seen current during
// this call, fails against a record of the same key that another unconditional put wrote under
// another version, ours took place just before that one.
class Put {
 public:
  enum class Mode : uint8_t { kAlways, kIfAbsent };

  Put() = default;
  // The bytes of key and value outlive the machine. `expiry` in ticks, 0 = never.
  Put(Mode mode, const Key& key, std::span<const std::byte> value, uint64_t expiry,
      const Location& hint = {})
      : mode_(mode), key_(key), value_(value), expiry_(expiry), hint_(hint) {}

  // Before the first Step: the CAS of the hint was made already, at `stamp`, and found `now`.
  void LostTo(SlotWord now, uint64_t stamp) {
    lost_to_ = now;
    stamp_ = stamp;
  }

  Action Step(const Env& env, Chain& chain);

  // At kNeedBlock.
  uint64_t block_bytes() const { return RecordBytes(key_.bytes, value_.size(), expiry_ != 0); }
  // REQUIRES: the block has room for block_bytes().
  void SupplyBlock(const Block& block) { block_ = block; }
  // No block is to be had: the next Step is done with this result.
  void Fail(Result result) { failure_ = result; }

  // At kWait: the lock that it waits for, and what it was when it was seen held. No address: it
  // waits for a record that is being moved.
  struct AwaitedLock {
    uint64_t address = 0;
    BucketHeader word;
  };
  AwaitedLock awaited() const {
    return awaits_lock_ ? AwaitedLock{lock_address_, lock_seen_} : AwaitedLock{};
  }
  // After kIndexFull: begins the search for a slot anew, with the block that it has.
  void TryAgain() {
    state_ = State::kReady;
    hint_ = {};
  }

  Mode mode() const { return mode_; }
  Result result() const { return result_; }
  // After kOk: the version of the value put. It was absorbed if it never was in memory.
  uint64_t version() const { return version_; }
  bool absorbed() const { return absorbed_; }
  // After kOk and not absorbed: where the record is. After kExists: where the other one is.
  const Location& found() const { return found_; }
  uint64_t stamp() const { return stamp_; }
  // Not linked by this operation: to be returned or used again. Empty once linked, or after
  // kUnknown, when nobody can tell.
  const Block& block() const { return block_; }

  const Freed& freed() const { return freed_; }
  Freed TakeFreed() {
    Freed f = freed_;
    freed_ = {};
    return f;
  }

  // For the resolution of an unknown outcome (protocol/resolve.h).
  const Location& expected() const { return expected_; }
  bool expected_seen() const { return expected_seen_; }

 private:
  enum class State : uint8_t {
    kStart,
    kReady,
    kCheck,
    kLock,
    kHeads,
    kSwing,
    kInsert,
    kConflict,
    kRelease,
    kDone,
  };

  Action Finish(Result result);
  // Of a record, so much that its key can be compared.
  void ReadHead(const Env& env, SlotWord word, Chain& chain) const;
  Action Begin(const Env& env, Chain& chain);
  Action Ready(const Env& env, Chain& chain);
  Action Cold(const Env& env, Chain& chain);
  Action LockAndRead(const Env& env, Chain& chain);
  Action OnCheck(const Env& env, Chain& chain);
  Action OnLock(const Env& env, Chain& chain);
  Action OnHeads(const Env& env, Chain& chain);
  Action OnTorn(const Env& env, Chain& chain);
  Action OnAbsent(const Env& env, Chain& chain);
  Action OnPresent(const Env& env, Chain& chain);
  Action Swing(const Env& env, Chain& chain);
  Action Swung(const Env& env, Chain& chain, uint64_t slot_address, SlotWord from);
  Action OnSwing(const Env& env, Chain& chain);
  Action Overtaken(const Env& env, Chain& chain, SlotWord now);
  Action OnConflict(const Env& env, Chain& chain);
  Action OnInsert(const Env& env, Chain& chain);
  Action Linked(const Env& env, uint64_t slot_address);
  Action ReleaseThen(const Env& env, Chain& chain, Action next, Result result);
  Action AfterRelease(const Env& env, Chain& chain);
  Action OnFailedChain(const Chain& chain);
  void AddWrite(const Env& env, Chain& chain);
  void AddUnlock(Chain& chain) const;
  uint64_t Mine() const { return block_.word.WithFingerprint(FingerprintOf(key_.hash)).raw(); }

  Mode mode_ = Mode::kAlways;
  State state_ = State::kStart;
  Result result_ = Result::kInternal;
  Result failure_ = Result::kOk;
  bool written_ = false;  // the record is in the region
  bool holding_ = false;  // the lock of the first bucket
  bool awaits_lock_ = false;
  bool absorbed_ = false;
  bool expected_seen_ = false;  // expected_ was current during this call, its key compared
  Action after_release_ = Action::kDone;
  Result after_release_result_ = Result::kOk;
  uint8_t torn_ = 0;
  uint8_t lock_work_ = 0;   // which verb of the chain took the lock
  uint8_t swing_work_ = 0;  // which verb swung the slot
  uint32_t attempts_ = 0;
  Key key_;
  std::span<const std::byte> value_;
  uint64_t expiry_ = 0;
  uint64_t version_ = 0;
  Location hint_;
  Location expected_;
  Location found_;
  uint64_t stamp_ = 0;
  SlotWord lost_to_;
  uint64_t lock_address_ = 0;
  uint64_t insert_address_ = 0;
  BucketHeader lock_free_;
  BucketHeader lock_held_;
  BucketHeader lock_seen_;
  Block block_;
  Lookup lookup_;
  Freed freed_;
};

}  // namespace dunlin
