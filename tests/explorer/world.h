#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/fabric/chain.h"
#include "common/protocol/get.h"
#include "common/protocol/modify.h"
#include "common/protocol/put.h"
#include "common/protocol/resolve.h"
#include "common/protocol/scan.h"
#include "server/growth/split.h"

namespace dunlin::explorer {

// One state of the explored system, as plain data: it is copied with memcpy to go back to it. The
// machines and chains in it hold pointers into it, so all steps are taken in one World at one
// address, into which the copies are put back.

inline constexpr uint32_t kMaxClients = 3;
inline constexpr uint32_t kRelocator = kMaxClients;  // the actor that moves records
inline constexpr uint32_t kServerSession = 200;
inline constexpr uint32_t kFreezer = kMaxClients + 1;
inline constexpr uint32_t kSplitter = kMaxClients + 2;
inline constexpr uint32_t kSweeper = kMaxClients + 3;
inline constexpr uint32_t kNobody = 0xFF;
inline constexpr uint32_t kMaxKeys = 3;
inline constexpr uint32_t kMaxBlocks = 12;
inline constexpr uint32_t kBuckets = 2;    // of a subtable
inline constexpr uint32_t kSubtables = 4;  // that there is memory for
inline constexpr uint32_t kSubtableStride = 128;
inline constexpr uint32_t kMaxDepth = 2;
inline constexpr uint32_t kMaxSlots = 3;  // of a bucket
static_assert(kBuckets * (1 + kMaxSlots) * 8 <= kSubtableStride);
inline constexpr uint32_t kHeapOffset = kSubtables * kSubtableStride;
inline constexpr uint32_t kMaxBlockBytes = 72;
inline constexpr uint32_t kRegionBytes = kHeapOffset + kMaxBlocks * kMaxBlockBytes;
inline constexpr uint32_t kScratchBytes = 560;
inline constexpr uint32_t kSinkBytes = 40;
inline constexpr uint32_t kMaxConfigs = 96;

// Of a heap block: what is true, as against what the clients believe.
enum class BlockState : uint8_t {
  kFree,      // in the pool, never linked since it was last given out
  kHand,      // given to `owner`, not linked
  kLinked,    // a slot names it
  kUnlinked,  // no slot names it any more; `owner` has to return it
  kReturned,  // and has: reused once the grace period is over
  kLost,      // in the hand of a session that is no more
};

struct BlockTruth {
  BlockState state = BlockState::kFree;
  uint8_t owner = kNobody;
  uint8_t unlinked_at = 0;
  uint8_t fresh = 1;       // nobody can hold a word that names it
  uint8_t reuse_from = 0;  // tick
  uint8_t unused[3] = {};
  uint32_t generation = 0;
};

// The sequential map that a history must be explained by; see model.h.
struct ModelKey {
  uint8_t writer = 0;  // the operation that wrote the value; 0: absent
  uint8_t expiry = 0;
  int16_t value = 0;
};

enum class OpStatus : uint8_t { kNone, kPending, kTaken };

struct ModelOp {
  OpStatus status = OpStatus::kNone;
  Result result = Result::kOk;
  uint8_t writer = 0;
  uint8_t expiry = 0;
  int16_t value = 0;
};

struct Config {
  ModelKey keys[kMaxKeys];
  ModelOp ops[kMaxClients];
};

struct Monitor {
  uint32_t count = 0;
  Config configs[kMaxConfigs];
};

enum class Phase : uint8_t {
  kIdle,        // the next operation may start
  kPosting,     // about to read the clock and post
  kChain,       // verbs under way, or all done and the completion not seen yet
  kVerifying,   // about to read the clock
  kWaiting,     // for somebody else to change something
  kNeedBlock,   // until the pool has one
  kAsking,      // the server to expire a record
  kRefreshing,  // about to copy the directory
  kFinished,
  kDead,
};

enum class MachineKind : uint8_t { kNone, kGet, kPut, kModify, kResolve, kScan };

inline constexpr size_t kMachineBytes =
    std::max({sizeof(Get), sizeof(Put), sizeof(Modify), sizeof(Resolve), sizeof(ScanBucket)});

// A scan's findings, and what was true meanwhile. Versions and keys are bits.
struct ScanState {
  uint64_t cursor = 0;
  uint64_t found = 0;       // versions met in the buckets before
  uint64_t found_here = 0;  // and in this one, in the pass under way
  uint64_t during = 0;      // versions that were current at some time since it began
  uint32_t pass = 0;
  uint32_t keys = 0;
  uint32_t keys_here = 0;
  uint32_t throughout = 0;  // keys that were there all the time
};

// What the server has published, or a client's copy of it.
struct Directory {
  uint64_t entries[1u << kMaxDepth] = {};  // DirectoryEntry
  uint32_t depth = 0;
  uint32_t epoch = 0;
  DirectoryView view() const { return {entries, depth, epoch}; }
};

struct Client {
  Phase phase = Phase::kIdle;
  MachineKind machine = MachineKind::kNone;
  uint8_t op = 0;            // index of the operation running, or next
  uint8_t session = 0;       // grows when the session is replaced
  uint8_t blocks_taken = 0;  // by this operation: makes its versions differ
  uint8_t changed = 0;       // somebody else changed the region since it last waited, or began
  uint8_t retries = 0;       // of an operation whose outcome was unknown and is resolved
  uint8_t unknown = 0;       // the operation's outcome is being resolved
  uint8_t invoked_at = 0;    // own clock
  uint8_t has_sink = 0;      // the machine was given one
  uint8_t futile = 0;  // nothing has changed since the last refresh, which brought nothing new
  uint64_t now = 0;
  uint64_t posted = 0;
  // Stands for the machine's state: what it was started with, then all that it was told since.
  uint64_t past = 0;
  uint64_t origin = 0;  // past of a machine that has been told nothing yet
  Directory directory;
  // Order-free digest of the words sampled by the chain under way.
  uint64_t sampled = 0;
  // Words of each verb that are still to be done.
  uint32_t remaining[kMaxWorks + kMostSwung] = {};
  uint8_t along = 0;  // of the chain's wish, so many parts were looked at
  Block block;        // in hand
  Location cache[kMaxKeys];
  ScanState scan;
  uint64_t last_version = 0;  // of the last operation that returned one
  int16_t lost_value = 0;     // of an unknown outcome: the sum that an add would return
  uint64_t lost_version = 0;
  Chain chain;
  alignas(8) std::byte storage[kMachineBytes];
  alignas(8) std::byte scratch[kScratchBytes];
  alignas(8) std::byte sink[kSinkBytes];
};

struct RelocatorState {
  uint8_t busy = 0;
  uint8_t left = 0;
  uint64_t slot_address = 0;
  SlotWord from;
  SlotWord to;
};

// The server takes the locks of both buckets, freezes every slot, and undoes all that: what a split
// does up to the point where it is given up.
struct FreezerState {
  uint8_t left = 0;
  uint8_t step = 0;
};

// Splits one subtable after the other; see system_split.cc.
struct SplitterState {
  uint8_t left = 0;
  uint8_t active = 0;
  uint8_t waiting = 0;    // for the lock at machine.lock_address()
  uint8_t publishes = 0;  // the next step publishes
  uint8_t cancels_left = 0;
  uint8_t retirements = 0;
  uint8_t retired_at = 0;  // tick of the last one
  Split machine;
};

// Mark and sweep: two walks through the subtables in the order of the hashes.
struct SweeperState {
  enum Phase : uint8_t { kRest, kFirstWalk, kBetween, kSecondWalk, kFree };
  uint8_t left = 0;
  uint8_t phase = kRest;
  uint8_t position = 0;   // in the hash space, in units of 1 / 2^kMaxDepth
  uint8_t width = 0;      // of the subtable it is in
  uint8_t slot = 0;       // the next one of the subtable; 0: not in one yet
  uint8_t ended_at = 0;   // tick, of the first walk
  uint16_t suspects = 0;  // bit i: block i is suspected
  uint16_t acquitted = 0;
  uint64_t subtable = 0;
  uint32_t generation[kMaxBlocks] = {};  // of the suspects, when the first walk began
};

struct World {
  alignas(8) std::byte region[kRegionBytes];
  uint8_t tick = 0;
  uint8_t ticks_left = 0;
  uint8_t deaths_left = 0;
  uint8_t losses_left = 0;
  uint64_t linked_versions = 0;  // bit (operation x 4 + try): a slot has named a record of it
  BlockTruth blocks[kMaxBlocks];
  RelocatorState relocator;
  FreezerState freezer;
  SplitterState splitter;
  SweeperState sweeper;
  Directory directory;  // as published
  Client clients[kMaxClients];
  Monitor monitor;
};
static_assert(std::is_trivially_copyable_v<World>);

}  // namespace dunlin::explorer
