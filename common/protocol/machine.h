#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/mutation.h"
#include "common/fabric/chain.h"
#include "common/layout/geometry.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"

namespace dunlin {

// What every operation of the protocol is: a small copyable state machine without clock, log,
// allocation or I/O. A driver calls Step; the machine answers with an Action that the driver
// carries out before it steps again. The same machines run on every fabric, in the explorer and in
// the simulator.
//
//   Get get(request, hint);
//   for (;;) {
//     switch (get.Step(env, chain)) {
//       case Action::kPost: env.posted = now(); post(chain); wait; env.now = now(); break;
//       ...
//       case Action::kDone: return get.outcome();
//     }
//     if (!get.freed().word.empty()) give back get.TakeFreed();
//   }
enum class Action : uint8_t {
  kPost,       // post the chain and wait for it
  kVerify,     // read the clock again into env.now
  kNeedSink,   // SupplySink of at least value_bytes() bytes (Get, Modify)
  kNeedBlock,  // SupplyBlock for block_bytes() bytes (Put, Modify), or Fail
  kRefresh,    // the directory is out of date: fetch it into env.directory
  kWait,       // somebody holds a lock or moves a record: wait a little
  kAskExpire,  // a session that can't write asks the server to expire expire_request()
  kDone,
};

// How an operation ended; one byte. Its twin for applications is dunlin::Outcome
// (client/include/dunlin/outcome.h).
enum class Result : uint8_t {
  kOk,
  kNotFound,
  kExists,           // put-if-absent: the key is there
  kVersionMismatch,  // compare-and-set: the key has another version
  kNotInteger,       // add: the value is not a decimal int64
  kOverflow,         // add: the sum is not an int64; the value is unchanged
  kIndexFull,        // no free slot in either bucket
  kMemoryFull,       // no block to be had
  kContended,        // the attempt limit was reached; nothing was changed
  kUnknown,          // a write may or may not have taken effect
  kUnavailable,      // the channel is broken; nothing was changed
  kDataLoss,         // a record or slot is damaged
  kTooLarge,         // key or value over the limit; nothing was changed
  kInternal,         // an invariant of the protocol was found broken
};

// What a driver tells a machine at each step. Ticks are the server's clock, in milliseconds.
struct Env {
  const Geometry* geometry = nullptr;
  DirectoryView directory;
  uint64_t now = 0;     // read after the last chain completed; read again for kVerify
  uint64_t posted = 0;  // read before the last chain was posted: the age of the words it returned
  uint32_t session = 0;
  uint32_t operation = 0;      // of this session, below 2048: names the lock's holder
  uint32_t scratch_bytes = 0;  // of chain.scratch; at least ScratchNeeded(key size)
  bool references = false;     // the fabric reads by reference (shm)
  bool can_write = true;
  uint32_t max_attempts = 1000;
};

struct Key {
  const std::byte* data = nullptr;
  uint32_t bytes = 0;
  uint64_t hash = 0;
};

// Where a key's record was found: what the location cache keeps.
struct Location {
  uint64_t slot_address = 0;
  SlotWord word;         // empty: no location
  uint64_t version = 0;  // 0: not known
  uint64_t expiry = 0;   // 0: never
  bool known() const { return !word.empty(); }
};

// A heap block in hand, with the version that its record will bear.
struct Block {
  SlotWord word;  // without fingerprint; empty: none
  uint64_t version = 0;
};

// A block that an operation unlinked, to be returned to the server.
struct Freed {
  SlotWord word;
  uint64_t version = 0;
};

// A word older than half the grace period is not to be acted on: its record may soon be reused.
inline bool Fresh(const Env& env, uint64_t stamp) {
  if (DUNLIN_MUTATION(kNoAgeCheck)) return true;
  return env.now - stamp < env.geometry->grace / 2;
}

inline bool Expired(uint64_t expiry, uint64_t now) { return expiry != 0 && expiry <= now; }

inline bool InHeap(const Geometry& g, SlotWord word) { return word.InHeapOf(g.heap_bytes); }

constexpr uint32_t RoundUp8(uint32_t n) { return (n + 7) & ~7u; }

// Scratch of an operation: copies of the two buckets, the image of the record to be written (header
// and key; the value is the chain's tail), then room for records read by copying.
inline constexpr uint32_t kCandidatesPerChain = kMostFollowed;
inline constexpr uint32_t kMaxIntegerText = 20;

inline uint32_t ImageOffset(const Geometry& g) { return 2 * g.bucket_bytes; }
inline uint32_t ImageBytes(uint32_t key_bytes) {
  return RoundUp8(kMaxRecordHead + key_bytes + kMaxIntegerText);
}
inline uint32_t CandidateOffset(const Geometry& g, uint32_t key_bytes) {
  return ImageOffset(g) + ImageBytes(key_bytes);
}
inline uint32_t ScratchNeeded(const Geometry& g, uint32_t key_bytes) {
  return CandidateOffset(g, key_bytes) + kCandidatesPerChain * RoundUp8(kMaxRecordHead + key_bytes);
}

// What a machine whose chain did not complete may say.
inline Result ResultOfFailure(const Chain& chain, bool may_have_linked) {
  return chain.outcome == ChainOutcome::kUnknown && may_have_linked ? Result::kUnknown
                                                                    : Result::kUnavailable;
}

}  // namespace dunlin
