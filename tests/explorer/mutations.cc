#include "tests/explorer/mutations.h"

namespace dunlin::explorer {

const std::vector<MutationInfo>& AllMutations() {
  using M = Mutation;
  static const std::vector<MutationInfo> all = {
      {M::kReadBeforeLock, "read-before-lock", "the READs of an insert follow its lock CAS",
       "elsewhere/put+put"},
      {M::kUnlockBeforeSlot, "unlock-before-slot", "the unlock of an insert follows its slot CAS",
       "elsewhere/put+put"},
      {M::kInsertFromOldReads, "insert-from-old-reads",
       "an insert that lost its slot starts again from the lock", "old_reads/"},
      {M::kAbsentWithoutLock, "absent-without-lock",
       "without the lock, absence is not believed", "elsewhere/put+put"},
      {M::kTrustHeaderInRead, "trust-header-in-read",
       "a header word proves nothing about slots of the same READ", "elsewhere_headers/"},
      {M::kWriteAfterSlot, "write-after-slot", "the record is there before a slot names it",
       "pair/get+put*"},
      {M::kAbsorbCached, "absorb-cached",
       "absorption needs a W that was seen current in this call", "absorb/"},
      {M::kAbsorbByConditional, "absorb-by-conditional", "a conditional winner absorbs nothing",
       "absorb/"},
      {M::kAbsorbByRelocation, "absorb-by-relocation", "a relocation is no winner", "absorb/"},
      {M::kIfAbsentMarked, "if-absent-marked", "put-if-absent is not marked unconditional",
       "expire/put+if_absent"},
      {M::kModifyMarked, "modify-marked", "compare-and-set, add, touch are not marked unconditional",
       "absorb/"},
      {M::kIfAbsentAbsorbs, "if-absent-absorbs", "only an unconditional put is absorbed",
       "expire/if_absent+put"},
      {M::kKeyByFingerprint, "key-by-fingerprint", "a key is compared in full", "twins/"},
      {M::kMissFromEmptySlot, "miss-from-empty-slot",
       "a cached get that finds its slot empty goes cold", "reinsert/get*"},
      {M::kModifyMissFromEmptySlot, "modify-miss-from-empty-slot",
       "so does a cached remove or put-if-present", "reinsert/"},
      {M::kKnownWithoutSlot, "known-without-slot", "a cached record is believed with its slot only",
       "pair/get*+put"},
      {M::kExpireWithoutCas, "expire-without-cas", "expiry is a CAS", "expire/get+get"},
      {M::kExpireIgnoresCas, "expire-ignores-cas", "whoever expired a record looks again",
       "expire/"},
      {M::kJudgeFrozen, "judge-frozen", "the judge of a frozen record waits", "freeze_expired/"},
      {M::kSwingFrozen, "swing-frozen", "a frozen slot is not changed", "freeze/"},
      {M::kNoAgeCheck, "no-age-check", "no word is believed that is older than G/2", "reuse/get"},
      {M::kFreeOnFailure, "free-on-failure", "only who unlinked a block returns it", "pair/put+put"},
      {M::kKeepBlockAfterUnknown, "keep-block-after-unknown",
       "a broken session drops its blocks", "unknown/put"},
      {M::kResolveEmptyAsNotDone, "resolve-empty-as-not-done",
       "expected empty and found empty proves nothing", "unknown/put+remove-absent"},
      {M::kResolveAnyWinner, "resolve-any-winner", "a conditional winner proves nothing",
       "unknown/put"},
      {M::kResolveUnseen, "resolve-unseen", "an unknown outcome is absorbed only by a W that was seen",
       "unknown/"},
      {M::kBlindRetry, "blind-retry", "an unknown outcome is resolved, not tried again", "unknown/"},
      {M::kReleaseUnfenced, "release-unfenced", "a lock is released after its holder is fenced",
       "elsewhere/put+put"},
  };
  return all;
}

}  // namespace dunlin::explorer
