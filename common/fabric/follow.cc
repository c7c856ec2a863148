#include "common/fabric/follow.h"

#include <algorithm>

#include "common/layout/lane.h"
#include "common/layout/slot.h"
#include "common/layout/word.h"

namespace dunlin {

bool MayFollow(const Chain& chain, uint64_t region_bytes) {
  const Follow& follow = chain.follow;
  if (chain.count < 2 || chain.count + kMostFollowed > kMaxWorks) return false;
  for (uint32_t i = chain.count - 2; i < chain.count; ++i) {
    if (chain.work[i].verb != Verb::kRead || chain.work[i].length % kWordBytes != 0) return false;
  }
  return follow.heap_start % kWordBytes == 0 && follow.heap_start <= region_bytes &&
         follow.heap_bytes <= region_bytes - follow.heap_start &&
         MostFollowedBytes(follow) <= kMostFollowedBytes;
}

uint64_t MostFollowedBytes(const Follow& follow) {
  return uint64_t{kMostFollowed} * std::max(follow.whole_bytes, follow.head_bytes);
}

uint32_t AppendFollowed(Chain& chain) {
  const Follow& follow = chain.follow;
  const Work* const buckets = &chain.work[chain.count - 2];
  uint8_t& n = chain.followed;
  n = 0;
  for (uint32_t b = 0; b < 2; ++b) {
    for (uint32_t at = kWordBytes; at < buckets[b].length; at += kWordBytes) {
      const SlotWord word(PlainWord(buckets[b].data + at));
      if (!word.Names(follow.fingerprint, follow.heap_bytes)) continue;
      if (n == kMostFollowed) return n;
      const uint64_t left = follow.heap_bytes - word.heap_offset();
      const uint32_t bytes = RecordReadBytes(word, follow.whole_bytes, follow.head_bytes);
      chain.Read(follow.heap_start + word.heap_offset(),
                 static_cast<uint32_t>(std::min<uint64_t>(bytes, left)),
                 follow.local + n++ * follow.stride);
    }
  }
  return n;
}

}  // namespace dunlin
