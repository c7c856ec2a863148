#pragma once

#include <cstdint>
#include <span>

#include "common/protocol/get.h"
#include "common/protocol/machine.h"

namespace dunlin {

enum class ModifyKind : uint8_t {
  kReplace,        // put-if-present
  kCompareAndSet,  // put if the version is the expected one
  kAdd,            // fetch-and-add on a decimal int64; keeps the expiry
  kTouch,          // same value, another expiry
  kRemove,
};

// Changes a key that is there: find its record, decide, then swing the slot by one CAS against the
// very word that was found. Takes no lock: an existing key keeps its slot.
//
//                            location known        cold
//   replace, remove          1 RTT                 3 RTT
//   compare-and-set          1 (2 if the known version is not the expected one), 3 RTT
//   add, touch               2 RTT                 3 RTT
//   chains: find as in protocol/get.h, then [WRITE record, CAS slot old->new] or [CAS slot old->0]
//
// What these write relied on what they replaced (marked conditional), so they are never absorbed
// and never absorb: a lost CAS means another look. "Not found" comes from Get, with its rules.
class Modify {
 public:
  struct Request {
    ModifyKind kind = ModifyKind::kRemove;
    Key key;
    std::span<const std::byte> value;  // kReplace, kCompareAndSet
    uint64_t expiry = 0;               // kReplace, kCompareAndSet, kTouch: in ticks, 0 = never
    uint64_t expected_version = 0;     // kCompareAndSet
    int64_t delta = 0;                 // kAdd
  };

  Modify() = default;
  // The bytes of key and value, and the sink, outlive the machine.
  explicit Modify(const Request& request, const Location& hint = {})
      : request_(request), hint_(hint) {}

  Action Step(const Env& env, Chain& chain);

  // At kNeedSink (kTouch where the fabric copies).
  uint64_t value_bytes() const { return get_.value_bytes(); }
  void SupplySink(std::byte* sink, uint64_t bytes) { get_.SupplySink(sink, bytes); }
  // At kNeedBlock.
  uint64_t block_bytes() const;
  void SupplyBlock(const Block& block) {
    block_ = block;
    block_for_ = block_bytes();
  }
  void Fail(Result result) { failure_ = result; }

  ModifyKind kind() const { return request_.kind; }
  Result result() const { return result_; }
  // After kOk: of the record written. After kVersionMismatch: the version found.
  uint64_t version() const { return version_; }
  int64_t sum() const { return sum_; }              // kAdd after kOk
  const Location& found() const { return found_; }  // after kOk, except kRemove
  uint64_t stamp() const { return stamp_; }
  const Block& block() const { return block_; }  // not linked; empty once linked or after kUnknown
  const Location& expire_request() const { return get_.expire_request(); }

  const Freed& freed() const { return freed_; }
  Freed TakeFreed() {
    Freed f = freed_;
    freed_ = {};
    return f;
  }

  // For the resolution of an unknown outcome (protocol/resolve.h).
  const Location& expected() const { return target_; }

 private:
  static bool SameRoom(uint64_t a, uint64_t b);

  enum class State : uint8_t { kStart, kFind, kFinding, kReady, kSwung, kDone };

  Action Finish(Result result);
  Action Find(const Env& env, Chain& chain, const Location& hint);
  Action StepGet(const Env& env, Chain& chain);
  Action Decide(const Env& env, Chain& chain);
  Action DecideAdd(const Env& env, Chain& chain);
  Action Ready(const Env& env, Chain& chain);
  Action OnSwung(const Env& env, Chain& chain);
  bool BlindAllowed(const Env& env) const;
  std::span<const std::byte> NewValue() const;

  Request request_;
  State state_ = State::kStart;
  Result result_ = Result::kInternal;
  Result failure_ = Result::kOk;
  bool blind_ = false;  // the target is the known location, not looked at in this call
  uint8_t swing_work_ = 0;
  uint8_t digits_ = 0;
  uint32_t attempts_ = 0;
  int64_t sum_ = 0;
  uint64_t version_ = 0;
  uint64_t expiry_ = 0;
  uint64_t stamp_ = 0;
  Location hint_;
  Location target_;
  Location found_;
  Get get_;
  Block block_;
  uint64_t block_for_ = 0;  // bytes of the record that the block in hand was asked for
  Freed freed_;
  char text_[kMaxIntegerText] = {};  // kAdd: the value read, then the sum
};

}  // namespace dunlin
