#include "server/region_view.h"

#include <cstring>

#include "common/layout/bucket.h"
#include "common/layout/directory.h"
#include "server/region_plan.h"

namespace dunlin {

void FormatRegion(std::byte* base, const Superblock& s) {
  DirectoryRoot root(s.directory_root);
  uint64_t subtable_bytes = uint64_t{s.buckets_per_subtable} * kBucketBytes;
  for (uint64_t prefix = 0; prefix < SubtableCount(s); ++prefix) {
    uint64_t offset = s.index_offset + prefix * subtable_bytes;
    uint64_t free = BucketHeader::Free(static_cast<uint32_t>(prefix), root.depth()).raw();
    for (uint64_t b = 0; b < s.buckets_per_subtable; ++b) {
      StoreWord(base + offset + b * kBucketBytes, free);
    }
    StoreWord(base + root.region_offset() + prefix * 8,
              DirectoryEntry::Make(offset, root.depth()).raw());
  }
  std::memcpy(base, &s, sizeof s);
}

}  // namespace dunlin
