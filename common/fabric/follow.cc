#include "common/fabric/follow.h"

#include <algorithm>
#include <cstring>

#include "common/base/mutation.h"
#include "common/layout/bucket.h"
#include "common/layout/lane.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"
#include "common/layout/word.h"

namespace dunlin {
namespace {

struct Candidate {
  uint64_t slot_address = 0;
  SlotWord word;
};

// The two buckets of a chain that follows, as they were read.
class Sample {
 public:
  explicit Sample(const Chain& chain)
      : follow_(chain.follow), buckets_(&chain.work[chain.asked() - 2]) {}

  // The slots that name a record of the fingerprint, in their order: up to one more than are
  // followed. Returns how many.
  uint32_t Candidates(Candidate (&found)[kMostFollowed + 1]) const {
    uint32_t n = 0;
    for (uint32_t b = 0; b < 2; ++b) {
      for (uint32_t at = kWordBytes; at < buckets_[b].length && n <= kMostFollowed;
           at += kWordBytes) {
        const SlotWord word(PlainWord(buckets_[b].data + at));
        if (word.Names(follow_.fingerprint, follow_.heap_bytes)) {
          found[n++] = {buckets_[b].remote + at, word};
        }
      }
    }
    return n;
  }

  bool AreOf(BucketHeader identity) const {
    return BucketHeader(PlainWord(buckets_[0].data)).SameIdentity(identity) &&
           BucketHeader(PlainWord(buckets_[1].data)).SameIdentity(identity);
  }

  // A slot says MOVED, or that of the key may be damaged: absence is not to be believed.
  bool Doubtful() const {
    for (uint32_t b = 0; b < 2; ++b) {
      for (uint32_t at = kWordBytes; at < buckets_[b].length; at += kWordBytes) {
        const SlotWord word(PlainWord(buckets_[b].data + at));
        const bool fits = word.fingerprint() == follow_.fingerprint && !word.empty();
        if (word.moved() || (fits && !word.Names(follow_.fingerprint, follow_.heap_bytes))) {
          return true;
        }
      }
    }
    return false;
  }

  // The address of a free slot, 0 if there is none.
  uint64_t FreeSlot() const {
    const uint32_t slots = buckets_[0].length / kWordBytes - 1;
    const FreePlace place = FreePlaceIn(buckets_[0].data, buckets_[1].data, slots);
    if (!place.found) return 0;
    return buckets_[place.bucket].remote + kWordBytes + place.slot * kWordBytes;
  }

 private:
  const Follow& follow_;
  const Work* const buckets_;
};

enum class Match : uint8_t { kSame, kOther, kTorn };

Match MatchCopy(const std::byte* data, SlotWord word, const Swing& swing) {
  const RecordHeader header(PlainWord(data));
  if (!IsRecordOf(header, word)) return Match::kTorn;
  if (header.key_bytes() != swing.key_bytes) return Match::kOther;
  const bool same = std::memcmp(data + header.key_offset(), swing.key, swing.key_bytes) == 0;
  return same || DUNLIN_MUTATION(kKeyByFingerprint) ? Match::kSame : Match::kOther;
}

uint32_t Swung(Chain& chain, uint64_t slot_address, SlotWord from) {
  // Copies: `chain` grows.
  const Work lock = chain.work[chain.asked() - 3];
  const bool held = lock.result == lock.compare;
  chain.CompareSwap(slot_address, from.raw(), chain.follow.swing.word);
  if (held) chain.CompareSwap(lock.remote, lock.swap, lock.compare);
  chain.swung = held ? 2 : 1;
  return chain.swung;
}

bool MaySwing(const Chain& chain) {
  const Swing& swing = chain.follow.swing;
  if (chain.count < 3 || chain.work[chain.count - 3].verb != Verb::kCompareSwap) return false;
  const Work* const buckets = &chain.work[chain.count - 2];
  return buckets[0].remote == chain.work[chain.count - 3].remote &&
         buckets[0].length == buckets[1].length && buckets[0].length >= 2 * kWordBytes &&
         buckets[0].length <= kBucketBytes && buckets[1].remote % kWordBytes == 0 &&
         swing.key_bytes >= 1 && swing.key_bytes <= kMostSwingKeyBytes &&
         chain.follow.head_bytes >= kMaxRecordHead + swing.key_bytes;
}

}  // namespace

bool MayFollow(const Chain& chain, uint64_t region_bytes) {
  const Follow& follow = chain.follow;
  if (chain.count < 2 || chain.count + kMostFollowed > kMaxWorks) return false;
  for (uint32_t i = chain.count - 2; i < chain.count; ++i) {
    if (chain.work[i].verb != Verb::kRead || chain.work[i].length % kWordBytes != 0) return false;
  }
  return follow.heap_start % kWordBytes == 0 && follow.heap_start <= region_bytes &&
         follow.heap_bytes <= region_bytes - follow.heap_start &&
         MostFollowedBytes(follow) <= kMostFollowedBytes &&
         (!follow.swing.wanted || MaySwing(chain));
}

uint64_t MostFollowedBytes(const Follow& follow) {
  return uint64_t{kMostFollowed} * std::max(follow.whole_bytes, follow.head_bytes);
}

uint32_t AppendFollowed(Chain& chain) {
  const Follow& follow = chain.follow;
  Candidate found[kMostFollowed + 1];
  const uint32_t n = std::min(Sample(chain).Candidates(found), kMostFollowed);
  for (uint32_t i = 0; i < n; ++i) {
    const SlotWord word = found[i].word;
    const uint64_t left = follow.heap_bytes - word.heap_offset();
    const uint32_t bytes = RecordReadBytes(word, follow.whole_bytes, follow.head_bytes);
    chain.Read(follow.heap_start + word.heap_offset(),
               static_cast<uint32_t>(std::min<uint64_t>(bytes, left)),
               follow.local + i * follow.stride);
  }
  chain.followed = static_cast<uint8_t>(n);
  return n;
}

uint32_t AppendSwing(Chain& chain) {
  const Swing& swing = chain.follow.swing;
  if (!swing.wanted) return 0;
  const Work& lock = chain.work[chain.asked() - 3];
  const BucketHeader identity(lock.compare);
  const Sample sample(chain);
  // Buckets that belong to another subtable by now say nothing about this key.
  const bool stale = !BucketHeader(lock.result).SameIdentity(identity) || !sample.AreOf(identity);
  if (stale) return 0;
  Candidate found[kMostFollowed + 1];
  const uint32_t candidates = sample.Candidates(found);
  for (uint32_t i = 0; i < chain.followed; ++i) {
    const SlotWord word = found[i].word;
    switch (MatchCopy(chain.work[chain.asked() + i].data, word, swing)) {
      case Match::kOther:
        continue;
      case Match::kTorn:
        return 0;
      case Match::kSame:
        // What is being moved must not be changed.
        const bool stays = word.frozen() && !DUNLIN_MUTATION(kSwingFrozenAlong);
        return swing.replaces && !stays ? Swung(chain, found[i].slot_address, word) : 0;
    }
  }
  // That the key is absent is believed only under the lock, and of candidates that were all read.
  const bool alone = lock.result == lock.compare || DUNLIN_MUTATION(kSwingUnlocked);
  if (!alone || candidates > chain.followed || sample.Doubtful()) return 0;
  const uint64_t slot_address = sample.FreeSlot();
  return slot_address != 0 ? Swung(chain, slot_address, SlotWord::Empty()) : 0;
}

}  // namespace dunlin
