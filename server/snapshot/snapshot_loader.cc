#include "server/snapshot/snapshot_loader.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/layout/checksum.h"
#include "common/layout/word.h"
#include "common/protocol/record_view.h"
#include "server/growth/grower.h"

namespace dunlin {
namespace {

// A few read faster than this one thread inserts.
constexpr uint32_t kMostReaders = 3;
constexpr uint64_t kBlocksAtATime = 64;
// All classes' blocks in hand are a small part of the heap.
constexpr uint64_t kHandsAHeap = 65'536;
// Each doubles the room for the key.
constexpr int kMostSplits = 8;

}  // namespace

SnapshotLoader::SnapshotLoader(const RegionView& region, const Parts& parts, uint64_t tick,
                               int64_t unix_ms)
    : region_(region),
      parts_(parts),
      tick_(tick),
      unix_ms_(unix_ms),
      buckets_(region.geometry().bucket_mask + 1) {}

absl::Status SnapshotLoader::Load(const SnapshotReader& reader, bool may_be_cut) {
  expected_ = reader.info().counts.records;
  RecordFeed feed(reader, std::min(kMostReaders, std::thread::hardware_concurrency()));
  std::optional<RecordFeed::Batch> batch;
  while ((batch = feed.Next(batch ? *std::move(batch) : RecordFeed::Batch()))) {
    for (const Item& item : batch->items) {
      const auto position = PositionOfTag(item.tag);
      if (!in_table_ || position >= IndexSpace::Next(subtable_)) {
        FinishTable();
        while (SplitIsDue(parts_.index->At(position)) && parts_.split(position)) {
        }
        EnterTable(parts_.index->At(position));
      }
      const std::byte* bytes = batch->bytes.data() + item.offset;
      const std::optional<uint64_t> expiry = ExpiryTick(item);
      if (!expiry) {
        ++figures_.expired;
        again_.push_back(item.tag);
        continue;
      }
      const Placed placed = Insert(item, bytes, *expiry, true);
      if (placed == Placed::kYes) continue;
      if (placed == Placed::kBucketsFull) {
        late_.push_back({item, *expiry, {bytes, bytes + item.key_bytes + item.value_bytes}});
        continue;
      }
      if (!may_be_cut) return DoesNotFit(reader.info());
      ++figures_.cut;
    }
  }
  FinishTable();
  DUNLIN_RETURN_IF_ERROR(feed.status());
  DUNLIN_RETURN_IF_ERROR(InsertLate());
  GiveBackBlocks();
  return absl::OkStatus();
}

absl::Status SnapshotLoader::DoesNotFit(const SnapshotInfo& info) const {
  const Geometry& g = region_.geometry();
  constexpr double kSpare = 1.1;
  const double wanted = static_cast<double>(g.region_bytes) * kSpare *
                        static_cast<double>(info.counts.records) /
                        static_cast<double>(std::max<uint64_t>(1, figures_.records));
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "snapshot " + std::to_string(info.id) +
                        " does not fit: " + FormatCount(figures_.records) + " of its " +
                        FormatCount(info.counts.records) + " records fill the heap of " +
                        FormatRoundedSize(g.heap_bytes) + "; raise memory to about " +
                        FormatRoundedSize(static_cast<uint64_t>(wanted)));
}

// Between 70 and 82 % load one subtable after another is split (server/growth/grower.h), here
// spread evenly over the index.
bool SnapshotLoader::SplitIsDue(const IndexSpace::Subtable& s) const {
  const double slots = static_cast<double>(uint64_t{1} << s.depth) *
                       static_cast<double>(uint64_t{buckets_} * kSlotsPerBucket);
  const double load = static_cast<double>(expected_) / slots;
  const double due = (load - Grower::kBeginLoad) / (Grower::kEndLoad - Grower::kBeginLoad);
  constexpr uint32_t kGolden = 0x9E3779B9;
  return due > static_cast<double>(s.prefix * kGolden) / 4294967296.0;
}

// Those for which both buckets were full. The shadow does not have them: the next pass writes them
// once more, which changes nothing.
absl::Status SnapshotLoader::InsertLate() {
  for (const Late& late : late_) {
    Placed placed = Insert(late.item, late.bytes.data(), late.expiry_tick, false);
    for (int i = 0; i < kMostSplits && placed == Placed::kBucketsFull; ++i) {
      const uint32_t position = PositionOfTag(late.item.tag);
      if (!parts_.split(position)) break;
      placed = Insert(late.item, late.bytes.data(), late.expiry_tick, false);
    }
    if (placed != Placed::kYes) {
      return absl::ResourceExhaustedError(
          "the snapshot does not fit: the index is full; raise memory or records");
    }
  }
  return absl::OkStatus();
}

std::optional<uint64_t> SnapshotLoader::ExpiryTick(const Item& item) const {
  if (!item.expiry_unix_ms) return 0;
  const int64_t left = *item.expiry_unix_ms - unix_ms_;
  if (left <= 0) return std::nullopt;
  return tick_ + static_cast<uint64_t>(left);
}

// A subtable at a time.

void SnapshotLoader::EnterTable(const IndexSpace::Subtable& s) {
  subtable_ = s;
  in_table_ = true;
  scratch_.Clear(buckets_);
}

void SnapshotLoader::FinishTable() {
  if (!in_table_) return;
  in_table_ = false;
  ShadowTable& t = parts_.shadow->TableOf(subtable_);
  scratch_.PackInto(t);
  t.seen_tick = tick_;
  t.again = std::exchange(again_, {});
}

SnapshotLoader::Placed SnapshotLoader::Insert(const Item& item, const std::byte* bytes,
                                              uint64_t expiry_tick, bool shadowed) {
  const uint64_t hash = HashKey({bytes, item.key_bytes}, region_.geometry().hash_seed);
  if (!shadowed) subtable_ = parts_.index->At(PositionOfTag(item.tag));
  uint32_t slot = 0;
  std::byte* const room = FindRoom(hash, &slot);
  if (room == nullptr) return Placed::kBucketsFull;
  const std::optional<BlockRef> block =
      TakeBlock(RecordBytes(item.key_bytes, item.value_bytes, expiry_tick != 0));
  if (!block) return Placed::kMemoryFull;
  const SlotWord word = block->word().WithFingerprint(FingerprintOf(hash));
  std::byte* const record = region_.At(region_.geometry().RecordAddress(word));
  const std::span<const std::byte> value(bytes + item.key_bytes, item.value_bytes);
  const uint32_t head = ComposeHead(record, {word, item.version}, item.unconditional, expiry_tick,
                                    {bytes, item.key_bytes, hash}, value);
  CopyBytes(record + head, value.data(), value.size());
  StoreWord(room, word.raw());
  if (shadowed) scratch_.Keep(slot, word.raw(), ShadowTag::Of(item.tag));
  ++figures_.records;
  return Placed::kYes;
}

// In the emptier of the two buckets, as a client would.
std::byte* SnapshotLoader::FindRoom(uint64_t hash, uint32_t* slot) {
  const BucketPair pair = BucketsOf(region_.geometry(), hash);
  std::byte* best = nullptr;
  uint32_t most_free = 0;
  for (const uint32_t bucket : {pair.first, pair.second}) {
    std::byte* const at = region_.At(subtable_.address + uint64_t{bucket} * kBucketBytes);
    uint32_t free = 0;
    uint32_t first = 0;
    for (uint32_t s = kSlotsPerBucket; s-- > 0;) {
      if (LoadWordRelaxed(at + kWordBytes + s * kWordBytes) != 0) continue;
      ++free;
      first = s;
    }
    if (free <= most_free) continue;
    most_free = free;
    best = at + kWordBytes + first * kWordBytes;
    *slot = bucket * kSlotsPerBucket + first;
  }
  return best;
}

std::optional<BlockRef> SnapshotLoader::TakeBlock(uint64_t record_bytes) {
  const SizeClass c = ClassFor(record_bytes);
  if (c == kRunClass) return parts_.allocator->TakeRun(record_bytes, tick_);
  std::vector<BlockRef>& blocks = blocks_[c];
  if (blocks.empty()) {
    const uint64_t most = region_.geometry().heap_bytes / kHandsAHeap / BlockBytes(c);
    const auto want = static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, kBlocksAtATime));
    if (parts_.allocator->Take(c, want, tick_, blocks) == 0) return std::nullopt;
    // Taken from the back: the blocks of a slab in their order.
    std::reverse(blocks.begin(), blocks.end());
  }
  const BlockRef block = blocks.back();
  blocks.pop_back();
  return block;
}

void SnapshotLoader::GiveBackBlocks() {
  for (std::vector<BlockRef>& blocks : blocks_) {
    for (const BlockRef block : blocks) parts_.allocator->Return(block.word(), tick_);
    blocks.clear();
  }
}

}  // namespace dunlin
