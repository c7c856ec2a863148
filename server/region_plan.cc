#include "server/region_plan.h"

#include <algorithm>
#include <bit>
#include <string>

#include "common/base/size_text.h"
#include "common/base/text.h"
#include "common/layout/access_log.h"
#include "common/layout/bucket.h"
#include "common/layout/directory.h"
#include "common/layout/record.h"
#include "common/layout/size_class.h"

namespace dunlin {
namespace {

constexpr uint64_t kAssumedRecordBytes = 128;
// 128 KiB: small enough for a split to be over in a few milliseconds, large enough for the keys to
// spread evenly.
constexpr uint64_t kBucketsPerSubtable = 1024;
// An index that takes more of the region than this leaves no room for what it is to find.
constexpr uint64_t kMostIndexShare = 2;
// Of the region, what sessions tell about the records that they use, unless one strip each is more.
constexpr uint64_t kMostAccessShare = 64;
constexpr uint64_t kSmallestHeap = uint64_t{1} << 20;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// At 80 % of 15 slots: 12 records a bucket.
uint64_t BucketsFor(uint64_t records) {
  static_assert(kSlotsPerBucket * 4 % 5 == 0);
  constexpr uint64_t kRecordsPerBucket = kSlotsPerBucket * 4 / 5;
  return std::max(kBucketsPerSubtable,
                  std::bit_ceil((records + kRecordsPerBucket - 1) / kRecordsPerBucket));
}

// The depth at which the index would take its most of the region, and one more, as subtables don't
// all split at the same time.
uint32_t DepthLimit(uint64_t region_bytes) {
  const uint64_t most = region_bytes / kMostIndexShare / (kBucketsPerSubtable * kBucketBytes);
  return static_cast<uint32_t>(std::bit_width(most)) + 1;
}

absl::Status TooSmall(const ServerOptions& o, uint64_t records, uint64_t index, uint64_t others) {
  return absl::InvalidArgumentError(
      "memory: " + FormatSize(o.memory) + " is too small: the index for " + FormatCount(records) +
      " records takes " + FormatRoundedSize(index) + ", " + std::to_string(o.max_sessions) +
      " sessions and the directory " + FormatRoundedSize(others) + ", and the heap at least " +
      FormatRoundedSize(kSmallestHeap) + "; raise memory, or lower records or max-sessions");
}

}  // namespace

uint32_t MostDirectoryDepth(const Superblock& s) {
  uint32_t depth = 0;
  while (depth < kMaxDirectoryDepth && DirectoryPlace(depth + 2) <= s.directory_bytes) ++depth;
  return depth;
}

uint64_t SubtableCount(const Superblock& s) {
  return s.index_bytes / (uint64_t{s.buckets_per_subtable} * kBucketBytes);
}

uint64_t IndexCapacity(const Superblock& s) {
  return s.index_bytes / kBucketBytes * kSlotsPerBucket * 4 / 5;
}

absl::StatusOr<Superblock> PlanRegion(const ServerOptions& o, const RegionSeed& seed) {
  Superblock s{};
  s.magic = kSuperblockMagic;
  s.layout_version = kLayoutVersion;
  s.superblock_bytes = kSuperblockBytes;
  s.incarnation = seed.incarnation;
  s.hash_seed = seed.hash_seed;
  s.region_bytes = RoundUp(o.memory, std::max<uint64_t>(seed.page_bytes, kPageBytes));
  s.slots_per_bucket = kSlotsPerBucket;
  s.session_offset = kSuperblockBytes;
  s.session_words = static_cast<uint32_t>(o.max_sessions);
  s.grace_ms = static_cast<uint32_t>(o.grace / 1'000'000);
  s.tick_period_ms = kTickPeriod;
  s.max_key_bytes = kMaxKeyBytes;

  uint64_t records =
      o.records > 0 ? static_cast<uint64_t>(o.records) : s.region_bytes / kAssumedRecordBytes;
  uint64_t buckets = BucketsFor(records);
  s.buckets_per_subtable = static_cast<uint32_t>(kBucketsPerSubtable);
  uint64_t subtables = buckets / s.buckets_per_subtable;
  uint32_t depth = static_cast<uint32_t>(std::countr_zero(subtables));
  uint32_t most_depth = std::min(kMaxDirectoryDepth, std::max(depth, DepthLimit(s.region_bytes)));
  s.directory_offset =
      s.session_offset + RoundUp(uint64_t{s.session_words} * kSessionWordBytes, kPageBytes);
  if (o.memory_mode() == Mode::kCache) {
    s.access_offset = s.directory_offset;
    const uint64_t fit =
        s.region_bytes / kMostAccessShare / (uint64_t{s.session_words} * kStripBytes);
    s.access_strips = std::clamp<uint64_t>(std::bit_floor(fit), 1, kMostStrips);
    s.directory_offset += RoundUp(AccessArea::Of(s).Bytes(s.session_words), kPageBytes);
  }
  s.directory_bytes = DirectoryPlace(most_depth + 1);
  s.index_offset = s.directory_offset + s.directory_bytes;
  s.index_bytes = buckets * kBucketBytes;
  s.heap_offset = RoundUp(s.index_offset + s.index_bytes, kPageBytes);
  if (depth > kMaxDirectoryDepth || s.heap_offset + kSmallestHeap > s.region_bytes) {
    return TooSmall(o, records, s.index_bytes, s.index_offset);
  }
  s.heap_bytes = (s.region_bytes - s.heap_offset) / kPageBytes * kPageBytes;

  s.max_value_bytes = o.max_value_size;
  uint64_t fits = s.heap_bytes - RecordBytes(kMaxKeyBytes, 0, true);
  if (s.max_value_bytes > fits) {
    if (!seed.max_value_is_default) {
      return absl::InvalidArgumentError(
          "max-value-size: " + FormatSize(o.max_value_size) + " is more than the heap of " +
          FormatRoundedSize(s.heap_bytes) + " can hold; raise memory or lower max-value-size");
    }
    s.max_value_bytes = s.heap_bytes / 4;
  }
  s.directory_root =
      DirectoryRoot::Make(s.directory_offset + DirectoryPlace(depth), depth, 1).raw();
  SealSuperblock(s);
  return s;
}

}  // namespace dunlin
