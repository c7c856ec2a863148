#pragma once

#include <cstdint>

#include "common/protocol/lookup.h"
#include "common/protocol/machine.h"
#include "common/protocol/record_view.h"

namespace dunlin {

enum class GetMode : uint8_t {
  kCopy,  // the value into the sink
  kView,  // by-reference fabrics only: the value is left where it lies; the caller holds back reuse
  kHead,  // no value: version and expiry only
};

// Reads a key.
//
//   location known  1 RTT  [READ record, READ slot], accepted if the slot still names the record;
//                          one READ more if it names another record of that fingerprint
//   cold            2 RTT  [READ b1, READ b2] [READ records whose fingerprint fits]
//   a run (over 32 KiB) costs one chain more for each MiB: [READ piece, READ slot]
//   an expired record costs [CAS W->0] and the search again
//
// "Not found" is said only of a sample of both buckets no older than half the grace period, under
// the identity of the directory, with no slot MOVED. A location that finds its slot empty goes
// cold.
class Get {
 public:
  Get() = default;
  // The key's bytes, and the sink from SupplySink on, outlive the machine.
  Get(const Key& key, GetMode mode, const Location& hint = {})
      : key_(key), mode_(mode), hint_(hint) {}

  // The same as a new Get(key, kCopy, hint), at the cost of what its first steps look at.
  void Restart(const Key& key, const Location& hint) {
    key_ = key;
    mode_ = GetMode::kCopy;
    state_ = State::kStart;
    hint_ = hint;
    attempts_ = 0;
    torn_ = 0;
    freed_.word = SlotWord::Empty();
    sink_bytes_ = 0;
  }

  Action Step(const Env& env, Chain& chain);

  void SupplySink(std::byte* sink, uint64_t bytes) {
    sink_ = sink;
    sink_bytes_ = bytes;
  }

  Result result() const { return result_; }
  // After kOk, and value_bytes() also at kNeedSink.
  uint64_t value_bytes() const { return view_.header.value_bytes(); }
  const std::byte* value() const { return value_; }  // kView: in the region; kCopy: the sink
  uint64_t version() const { return view_.version; }
  uint64_t expiry() const { return view_.expiry; }
  bool unconditional() const { return view_.header.unconditional(); }
  // The location that was validated as current, and the age of that knowledge.
  const Location& found() const { return found_; }
  uint64_t stamp() const { return stamp_; }
  // At kAskExpire.
  const Location& expire_request() const { return found_; }

  const Freed& freed() const { return freed_; }
  Freed TakeFreed() {
    Freed f = freed_;
    freed_ = {};
    return f;
  }

 private:
  enum class State : uint8_t {
    kStart,
    kKnown,
    kReread,
    kCold,
    kBuckets,
    kRecords,
    kSize,
    kDeliver,
    kPiece,
    kConfirm,
    kExpire,
    kAsked,
    kDone,
  };

  Action Finish(Result result);
  Action Cold(const Env& env, Chain& chain);
  Action OnKnown(const Env& env, Chain& chain);
  Action OnReread(const Env& env, Chain& chain);
  Action OnBuckets(const Env& env, Chain& chain);
  Action OnRecords(const Env& env, Chain& chain);
  Action OnMiss(const Env& env, Chain& chain);
  Action OnTorn(const Env& env, Chain& chain);
  Action Accept(const Env& env, Chain& chain, uint32_t bytes_read);
  Action Deliver(const Env& env, Chain& chain);
  Action NextPiece(const Env& env, Chain& chain);
  Action OnPiece(const Env& env, Chain& chain);
  Action Confirm(const Env& env, Chain& chain);
  Action Judge(const Env& env, Chain& chain);
  void ReadRecord(const Env& env, SlotWord word, Chain& chain) const;

  Key key_;
  GetMode mode_ = GetMode::kCopy;
  State state_ = State::kStart;
  Result result_ = Result::kInternal;
  bool whole_ = false;  // the value lies behind the head that was read
  uint16_t torn_ = 0;
  uint32_t attempts_ = 0;
  Location hint_;
  Location found_;
  uint64_t stamp_ = 0;
  Lookup lookup_;
  RecordView view_;
  std::byte* sink_ = nullptr;
  uint64_t sink_bytes_ = 0;
  uint64_t copied_ = 0;
  const std::byte* value_ = nullptr;
  Freed freed_;
};

}  // namespace dunlin
