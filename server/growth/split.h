#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "common/fabric/atomic_agent.h"
#include "common/layout/bucket.h"
#include "common/layout/geometry.h"
#include "common/layout/slot.h"

namespace dunlin {

// What a Split works on. Everything is borrowed.
struct SplitEnv {
  std::byte* base = nullptr;  // of the region
  const Geometry* geometry = nullptr;
  AtomicAgent* atomics = nullptr;
  absl::Status error = absl::OkStatus();  // set when an atomic failed: SplitFault::kAtomics
};

enum class SplitFault : uint8_t {
  kNone,
  kAtomics,   // an atomic of the region's domain failed; env.error says why
  kIdentity,  // a bucket's header does not bear the identity of the subtable that is split
  kSlot,      // a slot holds no word of this layout, or MOVED
  kRecord,    // a slot names no record whose key belongs there
  kForeign,   // a word was changed that a lock or the frozen bit protects
};

// What the fault is, in words.
std::string_view NameOf(SplitFault fault);

// Splits one subtable out of place into two fresh ones of the next depth, while clients work on it:
//
//   1. takes every bucket lock of the old subtable: nothing is inserted from here on
//   2. CASes every live slot to frozen: nothing is changed from here on
//   3. writes the words, still frozen, into the new subtables, every lock there taken. A key's
//      bucket numbers do not depend on the depth, so a word keeps its bucket and its place in it
//   4. reports kPublish: the caller publishes a directory that names the children
//   5. CASes every old slot to MOVED, empty ones too. MOVED thus always means that a newer
//      directory is there to be read, and that every miss in the old subtable is noticed
//   6. when the last one is MOVED, thaws the new slots; when the last one is thawed, unlocks
//   7. CASes the old headers to 0: no subtable lives there
//
// Reads go on all the while; writes to the subtable wait from 1 (inserts) or 2 on until 6. No slot
// turns from live to empty, so no reader misses a key.
//
// A small copyable state machine without clock, log, allocation or I/O of its own. Only one of a
// subtable at a time; no relocation, sweep or other split that looks at its slots beside it.
class Split {
 public:
  // A subtable's memory, which no directory names. Never used: all zero, and nobody but this Split
  // sees it before it is published, so it is filled by stores. Retired: every slot MOVED, every
  // header 0, left by another split no sooner than G ago; filled by atomics.
  struct Fresh {
    uint64_t address = 0;
    bool retired = false;
  };

  enum class Progress : uint8_t {
    kMore,       // step again
    kWait,       // somebody holds the lock at lock_address(): step again a little later
    kPublish,    // publish a directory that names the children, then step again
    kDone,       // the old subtable is retired: Fresh{old, true} from G on
    kCancelled,  // everything is as it was before
    kFault,      // the same, because of fault(); except with kAtomics, when nobody knows
  };

  Split() = default;
  // REQUIRES: depth < kMaxDirectoryDepth; `owner` is a session of the server's own.
  Split(uint64_t old_address, uint32_t prefix, uint32_t depth, Fresh left, Fresh right,
        uint32_t owner);

  // Looks at no more than `most` words of the index, and changes no more than that; with 1, it
  // changes one that others can see, or none. Some 20 ns a word in cache, the atomics' way not
  // counted.
  Progress Step(SplitEnv& env, uint32_t most);

  // Undoes what was done: step on until kCancelled. False, with no effect: kPublish was reported,
  // so that it is too late, or it is undoing already.
  bool Cancel();

  // At kWait: of the bucket whose lock is waited for.
  uint64_t lock_address() const { return lock_address_; }
  // The first one; not kNone after kDone says that somebody broke the protocol meanwhile, but the
  // split is complete.
  SplitFault fault() const { return fault_; }
  uint64_t fault_address() const { return fault_address_; }

  uint64_t old_address() const { return old_; }
  uint32_t prefix() const { return prefix_; }
  uint32_t depth() const { return depth_; }
  const Fresh& child(uint32_t i) const { return child_[i]; }
  // Keys that child i got. After kPublish.
  uint32_t live(uint32_t i) const { return live_[i]; }
  // Where it stands: another number after each step that does something.
  uint64_t position() const { return uint64_t{static_cast<uint8_t>(state_)} << 32 | cursor_; }
  // Writes of the subtable wait, or will soon.
  bool blocks_writes() const;

 private:
  enum class State : uint8_t {
    kLock,
    kFreeze,
    kFill,
    kPublish,
    kMove,
    kThaw,
    kUnlock,
    kRetire,
    kDone,
    // The way back.
    kClean,
    kThawOld,
    kGiveBack,
    kGivenUp,
  };

  State After(State state) const;
  uint32_t End(const Geometry& g) const;
  void Run(SplitEnv& env, uint32_t* most);
  bool Execute(SplitEnv& env, std::span<AtomicAgent::Swap> swaps, const uint32_t* positions);
  // Whether the word at a position of the state under way is to be changed, and how. They may also
  // send the split back.
  bool Want(SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap);
  bool WantLocked(const SplitEnv& env, uint32_t bucket, AtomicAgent::Swap* swap);
  bool WantFrozen(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap);
  bool WantFilled(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap);
  bool WantMoved(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap);
  bool WantThawed(const SplitEnv& env, uint64_t address, AtomicAgent::Swap* swap) const;
  bool WantHeader(const SplitEnv& env, uint64_t address, BucketHeader identity, uint64_t to,
                  AtomicAgent::Swap* swap);
  bool WantGivenBack(const SplitEnv& env, uint32_t bucket, AtomicAgent::Swap* swap) const;
  bool WantClean(const SplitEnv& env, uint32_t position, AtomicAgent::Swap* swap) const;
  bool SetChildWord(const SplitEnv& env, uint32_t child, uint64_t offset, uint64_t to,
                    AtomicAgent::Swap* swap) const;
  uint64_t ChildWordAddress(const Geometry& g, uint32_t position) const;
  bool Choose(const SplitEnv& env, SlotWord word, uint32_t position);
  uint32_t ChildOf(const SplitEnv& env, SlotWord word, uint32_t bucket) const;
  void PrefetchRecordAt(const SplitEnv& env, uint32_t position) const;
  void Note(SplitFault fault, uint64_t address);
  void GoBack();
  BucketHeader Identity(uint32_t child) const;

  uint64_t old_ = 0;
  uint64_t lock_address_ = 0;
  uint64_t fault_address_ = 0;
  Fresh child_[2];
  uint32_t prefix_ = 0;
  uint32_t depth_ = 0;
  uint32_t owner_ = 0;
  uint32_t cursor_ = 0;  // position in what the state under way looks at
  uint32_t live_[2] = {0, 0};
  uint32_t choice_ = 0;  // the child that gets the word at the cursor
  State state_ = State::kLock;
  SplitFault fault_ = SplitFault::kNone;
  bool holds_ = false;  // locks of the old subtable
  bool cancelled_ = false;
  bool waits_ = false;
};

}  // namespace dunlin
