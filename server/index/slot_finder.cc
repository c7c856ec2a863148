#include "server/index/slot_finder.h"

#include "common/layout/checksum.h"
#include "common/layout/geometry.h"
#include "common/layout/word.h"

namespace dunlin {

std::optional<RecordSight> SeeRecord(const RegionView& region, SlotWord word,
                                     uint64_t block_bytes) {
  RecordSight sight;
  sight.data = region.At(region.geometry().RecordAddress(word));
  sight.header = RecordHeader(LoadWord(sight.data));
  if (!sight.header.plausible() || sight.header.generation() != word.generation() ||
      sight.header.record_bytes() > block_bytes) {
    return std::nullopt;
  }
  if (sight.header.expires()) sight.expiry = LoadWord(sight.data + kRecordPrefixBytes);
  return sight;
}

std::optional<FoundSlot> FindSlot(const RegionView& region, const IndexSpace& index,
                                  const BlockPool& pool, BlockRef block) {
  if (!pool.Allocated(block)) return std::nullopt;
  std::optional<RecordSight> sight = SeeRecord(region, block.word(), pool.BytesOf(block));
  if (!sight) return std::nullopt;
  const Geometry& g = region.geometry();
  const uint64_t hash = HashKey(sight->key(), g.hash_seed);
  const SlotWord wanted = block.word().WithFingerprint(FingerprintOf(hash));
  const Placement place = Place(g, index.directory(), hash);
  for (uint64_t bucket : place.bucket) {
    for (uint32_t s = 0; s < g.slots_per_bucket; ++s) {
      const uint64_t address = g.SlotAddress(bucket, s);
      const SlotWord word(LoadWord(region.At(address)));
      if (word.SameRecord(wanted)) return FoundSlot{address, word};
    }
  }
  return std::nullopt;
}

}  // namespace dunlin
