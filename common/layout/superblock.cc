#include "common/layout/superblock.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>

#include "common/layout/access_log.h"
#include "common/layout/bucket.h"
#include "common/layout/directory.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"

namespace dunlin {
namespace {

// Padding between `checksum` and `tick` is not part of either.
uint64_t ConstantChecksum(const Superblock& s) {
  return XXH3_64bits(&s, offsetof(Superblock, checksum));
}

std::string Found(const char* what, uint64_t expected, uint64_t found) {
  return std::string(what) + ": expected " + std::to_string(expected) + ", found " +
         std::to_string(found);
}

uint64_t RoundUpToPage(uint64_t offset) {
  return (offset + kPageBytes - 1) / kPageBytes * kPageBytes;
}

struct Area {
  const char* name;
  uint64_t offset;
  uint64_t bytes;
};

std::string WhyAreasOverlap(const Superblock& s) {
  const uint64_t session_end = s.session_offset + uint64_t{s.session_words} * kSessionWordBytes;
  const bool strips = s.access_offset != 0;
  const Area areas[] = {
      {"session words", s.session_offset, uint64_t{s.session_words} * kSessionWordBytes},
      {"access strips", strips ? s.access_offset : RoundUpToPage(session_end),
       AccessArea::Of(s).Bytes(s.session_words)},
      {"directory", s.directory_offset, s.directory_bytes},
      {"index", s.index_offset, s.index_bytes},
      {"heap", s.heap_offset, s.heap_bytes},
  };
  uint64_t end = kSuperblockBytes;
  for (const Area& area : areas) {
    if (area.offset % kPageBytes != 0 || area.offset < end || area.offset > s.region_bytes ||
        area.bytes > s.region_bytes - area.offset) {
      return std::string("corrupt superblock: the ") + area.name + " at offset " +
             std::to_string(area.offset) + " of " + std::to_string(area.bytes) +
             " bytes does not fit behind offset " + std::to_string(end) + " in a region of " +
             std::to_string(s.region_bytes) + " bytes";
    }
    end = area.offset + area.bytes;
  }
  return "";
}

std::string WhyGeometryBad(const Superblock& s) {
  if (s.slots_per_bucket != kSlotsPerBucket) {
    return Found("slots in a bucket", kSlotsPerBucket, s.slots_per_bucket);
  }
  if (!std::has_single_bit(s.buckets_per_subtable) || s.buckets_per_subtable < 2 ||
      s.buckets_per_subtable > 65536) {
    return "buckets in a subtable: expected a power of two from 2 to 65536, found " +
           std::to_string(s.buckets_per_subtable);
  }
  if (s.heap_bytes > SlotWord::kHeapLimit) {
    return Found("bytes of heap, at most", SlotWord::kHeapLimit, s.heap_bytes);
  }
  if (s.max_key_bytes == 0 || s.max_key_bytes > kMaxKeyBytes) {
    return Found("largest key, at most", kMaxKeyBytes, s.max_key_bytes);
  }
  if (s.max_value_bytes > kHardMaxValueBytes) {
    return Found("largest value, at most", kHardMaxValueBytes, s.max_value_bytes);
  }
  if (s.grace_ms < 4) return Found("grace period in ms, at least", 4, s.grace_ms);
  if (s.access_strips > kMostStrips || (s.access_offset == 0) != (s.access_strips == 0)) {
    return Found("access strips of a session, at most", kMostStrips, s.access_strips);
  }
  for (uint64_t word : s.reserved0) {
    if (word != 0) return Found("reserved word of the superblock", 0, word);
  }
  return WhyAreasOverlap(s);
}

}  // namespace

void SealSuperblock(Superblock& superblock) { superblock.checksum = ConstantChecksum(superblock); }

std::string WhyNotUsable(const Superblock& s, uint64_t mapped_bytes) {
  if (s.magic != kSuperblockMagic) {
    return "not a Dunlin region: " + Found("magic", kSuperblockMagic, s.magic);
  }
  if (s.layout_version != kLayoutVersion) {
    return Found("layout version of the region", kLayoutVersion, s.layout_version) +
           "; client and server must come from releases of one layout version";
  }
  if (s.superblock_bytes != kSuperblockBytes) {
    return Found("bytes of the superblock", kSuperblockBytes, s.superblock_bytes);
  }
  if (uint64_t sum = ConstantChecksum(s); sum != s.checksum) {
    return "corrupt superblock: " + Found("checksum", sum, s.checksum);
  }
  if (s.region_bytes > mapped_bytes) {
    return "truncated region: " + Found("bytes", s.region_bytes, mapped_bytes);
  }
  return WhyGeometryBad(s);
}

std::string WhyNotUsable(std::span<const std::byte> region) {
  if (region.size() < kSuperblockBytes) {
    return "truncated region: " + Found("bytes, at least", kSuperblockBytes, region.size());
  }
  Superblock copy;
  std::memcpy(&copy, region.data(), sizeof copy);
  return WhyNotUsable(copy, region.size());
}

}  // namespace dunlin
