#include "server/snapshot/record_inserter.h"

#include <algorithm>
#include <optional>

#include "common/base/prefetch.h"
#include "common/layout/checksum.h"
#include "common/layout/word.h"
#include "common/protocol/record_view.h"

namespace dunlin {
namespace {

constexpr uint64_t kBlocksAtATime = 64;
// All classes' blocks in hand are a small part of the heap.
constexpr uint64_t kHandsAHeap = 65'536;
// Of more the processor itself asks for the rest.
constexpr uint32_t kMostAheadBytes = 2048;

}  // namespace

RecordInserter::Placed RecordInserter::Insert(const IndexSpace::Subtable& s,
                                              const SnapshotRecord& record, uint64_t expiry_tick,
                                              Place* place) {
  const uint64_t hash = HashKey(record.key, region_.geometry().hash_seed);
  std::byte* const room = FindRoom(s, hash, &place->slot);
  if (room == nullptr) return Placed::kBucketsFull;
  const auto key_bytes = static_cast<uint32_t>(record.key.size());
  BlockRef block;
  if (!TakeBlock(RecordBytes(key_bytes, record.value.size(), expiry_tick != 0), &block)) {
    return Placed::kMemoryFull;
  }
  place->word = block.word().WithFingerprint(FingerprintOf(hash));
  std::byte* const to = region_.At(region_.geometry().RecordAddress(place->word));
  const uint32_t head =
      ComposeHead(to, {place->word, record.version}, record.unconditional, expiry_tick,
                  {record.key.data(), key_bytes, hash}, record.value);
  CopyBytes(to + head, record.value.data(), record.value.size());
  StoreWord(room, place->word.raw());
  return Placed::kYes;
}

// In the emptier of the two buckets, as a client would.
std::byte* RecordInserter::FindRoom(const IndexSpace::Subtable& s, uint64_t hash,
                                    uint32_t* slot) const {
  const BucketPair pair = BucketsOf(region_.geometry(), hash);
  std::byte* best = nullptr;
  uint32_t most_free = 0;
  for (const uint32_t bucket : {pair.first, pair.second}) {
    std::byte* const at = region_.At(s.address + uint64_t{bucket} * kBucketBytes);
    uint32_t free = 0;
    uint32_t first = 0;
    for (uint32_t i = kSlotsPerBucket; i-- > 0;) {
      if (LoadWordRelaxed(at + kWordBytes + i * kWordBytes) != 0) continue;
      ++free;
      first = i;
    }
    if (free <= most_free) continue;
    most_free = free;
    best = at + kWordBytes + first * kWordBytes;
    *slot = bucket * kSlotsPerBucket + first;
  }
  return best;
}

// Into `block`: an optional is read back in one piece after it was written in two, which has to
// wait for all stores before, those of the last record into cold memory.
bool RecordInserter::TakeBlock(uint64_t record_bytes, BlockRef* block) {
  const SizeClass c = ClassFor(record_bytes);
  if (c == kRunClass) {
    const MutexLock lock(*mutex_);
    const std::optional<BlockRef> run = allocator_->TakeRun(record_bytes, tick_);
    if (run) *block = *run;
    return run.has_value();
  }
  if (blocks_[c].empty() && !FillHand(c)) return false;
  *block = blocks_[c].back();
  blocks_[c].pop_back();
  if (!blocks_[c].empty()) LookAhead(blocks_[c].back());
  return true;
}

// The next record's memory is in no cache; it comes while that record is read and checked.
void RecordInserter::LookAhead(BlockRef next) const {
  PrefetchBytes(region_.At(region_.geometry().RecordAddress(next.word())),
                std::min(BlockBytes(next.size_class()), kMostAheadBytes));
}

bool RecordInserter::FillHand(SizeClass c) {
  const uint64_t most = region_.geometry().heap_bytes / kHandsAHeap / BlockBytes(c);
  const auto want = static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, kBlocksAtATime));
  {
    const MutexLock lock(*mutex_);
    if (allocator_->Take(c, want, tick_, blocks_[c]) == 0) return false;
  }
  // Taken from the back: the blocks of a slab in their order.
  std::reverse(blocks_[c].begin(), blocks_[c].end());
  return true;
}

void RecordInserter::TakeOver(RecordInserter& other) {
  for (size_t c = 0; c < blocks_.size(); ++c) {
    blocks_[c].insert(blocks_[c].end(), other.blocks_[c].begin(), other.blocks_[c].end());
    other.blocks_[c].clear();
  }
}

void RecordInserter::GiveBackBlocks() {
  const MutexLock lock(*mutex_);
  for (std::vector<BlockRef>& blocks : blocks_) {
    for (const BlockRef block : blocks) allocator_->Return(block.word(), tick_);
    blocks.clear();
  }
}

}  // namespace dunlin
