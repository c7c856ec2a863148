#pragma once

// Rules of the protocol that the explorer breaks on purpose, to show that it would notice. In the
// product DUNLIN_MUTATION(rule) is the constant false and leaves no code; the explorer compiles the
// machines a second time with DUNLIN_MUTATIONS, where one rule can be broken at a time.

#ifdef DUNLIN_MUTATIONS

namespace dunlin {

enum class Mutation {
  kNone,
  // Insert.
  kReadBeforeLock,      // the READs of an insert are sampled before its lock CAS
  kUnlockBeforeSlot,    // the unlock goes before the slot CAS
  kInsertFromOldReads,  // a failed insert tries the next slot of its old sample, unlocked
  kAbsentWithoutLock,   // absence is believed although the lock CAS failed
  kTrustHeaderInRead,   // ... if the header in the same READ shows the lock free
  kWriteAfterSlot,      // the record is written behind the CAS that links it
  // Absorption.
  kAbsorbCached,         // by a cached W, not seen in this call
  kAbsorbByConditional,  // by a conditional winner
  kAbsorbByRelocation,   // by the same version at another place
  kIfAbsentMarked,       // put-if-absent is marked unconditional
  kModifyMarked,         // conditional writes are marked unconditional
  kIfAbsentAbsorbs,
  // Keys and misses.
  kKeyByFingerprint,   // the key is not compared
  kMissFromEmptySlot,  // a cached get that finds its slot empty says "not found"
  kKnownWithoutSlot,   // a cached get believes the record without its slot
  kModifyMissFromEmptySlot,
  // Expiry.
  kExpireWithoutCas,  // an expired record is reported as not found
  kExpireIgnoresCas,  // whatever its CAS found, the key is reported as not found
  kJudgeFrozen,       // a frozen record is unlinked
  kSwingFrozen,       // a frozen record is replaced
  // Reuse.
  kNoAgeCheck,             // words of any age are believed
  kSizeOfAnyAge,           // the driver is told a size that was read too late
  kFreeOnFailure,          // the old block is freed though the CAS failed
  kKeepBlockAfterUnknown,  // a block that may be linked is used again
  // Unknown outcomes.
  kResolveEmptyAsNotDone,  // expected empty and found empty: not done
  kResolveAnyWinner,       // a conditional winner proves it done
  kResolveUnseen,          // absorption although W was not seen in this call
  // A split (server/growth/split.h), and what clients owe to it.
  kSplitWithoutLocks,      // the locks of the old subtable are not taken
  kSplitWithoutFreezing,   // its slots are not frozen
  kSplitChildrenOpen,      // the children can be seen thawed and unlocked
  kSplitByFingerprint,     // a key's child is chosen by its fingerprint
  kSplitMovedUnpublished,  // the directory is published when the last slot is MOVED
  kSplitEmptyNotMoved,     // the empty slots of the old subtable stay empty
  kSplitThawBeforeMoved,   // the children are thawed and unlocked before the old slots are MOVED
  kSplitUnlockBeforeThaw,  // the children are unlocked before they are thawed
  kSplitKeepsIdentity,     // the retired subtable keeps its identity
  kLockObserved,           // the lock CAS expects the identity that was last seen there
  kMissDespiteMoved,       // a miss is believed of slots that say MOVED
  kMissElsewhere,          // ... of buckets of another identity
  kScanDespiteMoved,       // a scan passes over slots that say MOVED
  kScanElsewhere,          // ... reads buckets of another identity
  // A relocation, and mark and sweep.
  kRelocateFrozen,      // a frozen slot is swung
  kRelocateRemarked,    // the copy is marked unconditional
  kRelocateUnbatched,   // the target is in no unresolved batch
  kSweepUnresolved,     // blocks of unresolved batches are candidates
  kSweepOnce,           // one walk is enough, and what it frees is reused at once
  kSweepAnyGeneration,  // a block is freed whatever generation it is of by now
  kSweepDuringSplit,    // a walk goes on while a subtable is split
  // A slot that is swung along (common/fabric/follow.h).
  kSwingUnlocked,     // a free slot, though the lock was not got
  kSwingFrozenAlong,  // a frozen one
  kSwingOfAnyAge,     // blocks are reused between the READs and the CAS
  // What drivers and servers owe to the protocol; the explorer plays them.
  kBlindRetry,       // an unknown outcome is tried again
  kReleaseUnfenced,  // a lock is released before its holder is fenced
  kCount,
};

inline thread_local Mutation active_mutation = Mutation::kNone;
inline bool Mutated(Mutation m) { return active_mutation == m; }

}  // namespace dunlin

#define DUNLIN_MUTATION(rule) (::dunlin::Mutated(::dunlin::Mutation::rule))

#else

#define DUNLIN_MUTATION(rule) false

#endif
