#include "server/snapshot/snapshot_pass.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/base/check.h"
#include "common/base/prefetch.h"
#include "common/layout/checksum.h"
#include "common/layout/word.h"
#include "common/snapshot/snapshot_tag.h"
#include "server/snapshot/record_image.h"

namespace dunlin {
namespace {

// Bounds of one step: about a tenth of a millisecond.
constexpr size_t kHeadsPerStep = 512;
constexpr size_t kRecordsPerStep = 512;
constexpr size_t kBytesPerStep = 256 << 10;
// A record of more is copied in pieces; one of less together with its head.
constexpr uint64_t kLargeRecord = 128 << 10;
constexpr uint64_t kSmallRecord = 512;
static_assert(kSmallRecord <= UINT16_MAX, "Candidate::copied");
constexpr size_t kAhead = 16;
// So many are asked for in a row: the walks of the page table, which each begins with, then
// overlap.
constexpr size_t kBurst = 8;

constexpr size_t kBatchItems = 16'384;

constexpr uint32_t kBucketsAtATime = 64;  // of CompareBuckets

}  // namespace

SnapshotPass::SnapshotPass(const RegionView& region, const Parts& parts)
    : region_(region),
      parts_(parts),
      buckets_(region.geometry().bucket_mask + 1),
      max_age_((uint64_t{SlotWord::kGenerationMask} + 1) / 4 * region.geometry().grace),
      compare_(FastestCompare().compare) {}

void SnapshotPass::Begin(Kind kind, uint64_t pass, uint64_t committed, SnapshotSink* sink) {
  DUNLIN_CHECK(kind == Kind::kMark || sink != nullptr);
  Drop();
  kind_ = kind;
  pass_ = pass;
  committed_ = committed;
  sink_ = sink;
  active_ = true;
  position_ = 0;
  figures_ = {};
  if (kind == Kind::kFull) parts_.shadow->Clear();
}

void SnapshotPass::Drop() {
  active_ = false;
  batch_ = {};
  LeaveTable();
}

// Whatever was under way in it.
void SnapshotPass::LeaveTable() {
  phase_ = Phase::kCompare;
  table_ = nullptr;
  large_.reset();
  slots_of_tag_.clear();
  item_ = kNoItem;
}

uint32_t SnapshotPass::permille() const {
  return active_ ? static_cast<uint32_t>(uint64_t{position_} * 1000 / IndexSpace::kPositions) : 0;
}

uint64_t SnapshotPass::scratch_bytes() const {
  return scratch_.bytes() + candidates_.capacity() * sizeof(Candidate) + small_.capacity() +
         touched_.capacity() * 8 + batch_.bytes.capacity() +
         batch_.items.capacity() * sizeof(SnapshotBatch::Item);
}

bool SnapshotPass::Step(uint64_t tick, const IndexSpace::Subtable* closed) {
  if (!active_) return false;
  tick_ = tick;
  switch (phase_) {
    case Phase::kCompare: {
      const IndexSpace::Subtable s = parts_.index->At(position_);
      if (closed != nullptr && s == *closed) return false;
      if (CompareTable(s)) return true;
      NextTable();
      return true;
    }
    case Phase::kHeads:
      ReadHeads();
      return true;
    case Phase::kCopy:
      return CopyRecords();
  }
  return false;
}

// What was handed on of this subtable counts, but the shadow doesn't know of it: whatever becomes
// of those tags, their entries are to be written again.
void SnapshotPass::StepBack() {
  if (phase_ == Phase::kCopy && tag_cursor_ != 0) {
    table_->again.insert(table_->again.end(), touched_.begin(),
                         touched_.begin() + static_cast<ptrdiff_t>(tag_cursor_));
    PushBatch(true);
  }
  LeaveTable();
}

void SnapshotPass::NextTable() {
  ++figures_.subtables;
  LeaveTable();
  position_ = IndexSpace::Next(subtable_);
  if (position_ != IndexSpace::kPositions) return;
  if (!batch_.items.empty()) PushBatch(false);
  active_ = false;
}

void SnapshotPass::PushBatch(bool ends_layer) {
  batch_.ends_layer = ends_layer;
  sink_->Push(std::exchange(batch_, sink_->Spare()));
}

// Slots.

std::byte* SnapshotPass::SlotAt(uint32_t slot) const {
  return region_.At(subtable_.address + uint64_t{slot / kSlotsPerBucket} * kBucketBytes +
                    kWordBytes + uint64_t{slot % kSlotsPerBucket} * kWordBytes);
}

SlotWord SnapshotPass::Now(uint32_t slot) const {
  return SlotWord(LoadWord(SlotAt(slot))).Thawed();
}

// Nothing if the word names no place in the heap. The allocator isn't asked about small blocks,
// which would cost a cache miss for each: what lies there is believed by its generation, its
// checksum and its key's hash.
std::optional<uint64_t> SnapshotPass::BlockBytesOf(SlotWord word) const {
  if (word.size_class() == kRunClass) {
    const std::optional<BlockRef> block = parts_.pool->Find(word);
    if (!block) return std::nullopt;
    return parts_.pool->BytesOf(*block);
  }
  const uint64_t bytes = BlockBytes(word.size_class());
  if (word.heap_offset() + bytes > region_.geometry().heap_bytes) return std::nullopt;
  return bytes;
}

// A client may have written anything, and may be writing.
SnapshotPass::Seen SnapshotPass::SeeOnce(uint32_t slot, Sight& sight) const {
  sight.word = Now(slot);
  if (!sight.word.live()) return sight.word.corrupt() ? Seen::kDamaged : Seen::kNothing;
  const std::optional<uint64_t> block_bytes = BlockBytesOf(sight.word);
  if (!block_bytes) return Seen::kDamaged;
  const std::optional<RecordSight> record = SeeRecord(region_, sight.word, *block_bytes);
  if (!record) return Seen::kDamaged;
  sight.record = *record;
  if (record->expiry != 0 && record->expiry <= tick_) return Seen::kNothing;
  const uint64_t hash = HashKey(record->key(), region_.geometry().hash_seed);
  sight.tag = SnapshotTag(hash);
  const bool here = PrefixOf(hash, subtable_.depth) == subtable_.prefix &&
                    FingerprintOf(hash) == sight.word.fingerprint();
  return here ? Seen::kRecord : Seen::kDamaged;
}

// What looks damaged may have been swung in between: no client links a record before it is whole.
SnapshotPass::Seen SnapshotPass::See(uint32_t slot, Sight& sight) const {
  constexpr int kLooks = 3;
  Seen seen = SeeOnce(slot, sight);
  for (int look = 1; look < kLooks && seen == Seen::kDamaged; ++look) {
    if (Now(slot) == sight.word) return seen;
    seen = SeeOnce(slot, sight);
  }
  return seen;
}

// Comparison.

void SnapshotPass::Settle(ShadowTable& t) {
  if (t.pass != 0) {
    const bool failed = t.pass > committed_;
    for (size_t i = 0; i < t.records(); ++i) {
      const SlotWord word(t.words[i]);
      if (!word.frozen()) continue;
      t.words[i] = failed ? StaleWord(word) : word.Thawed().raw();
    }
    if (failed) t.again.insert(t.again.end(), t.again_if_failed.begin(), t.again_if_failed.end());
    t.again_if_failed = {};
    t.pass = 0;
  }
  if (t.records() != 0 && t.seen_tick + max_age_ < tick_) t.MakeAllStale();
}

// True: the subtable has changes that are now to be handed on.
bool SnapshotPass::CompareTable(const IndexSpace::Subtable& s) {
  subtable_ = s;
  ShadowTable& t = parts_.shadow->TableOf(s);
  Settle(t);
  candidates_.clear();
  touched_.clear();
  deleted_.clear();
  small_.clear();
  scratch_used_ = false;
  compared_tick_ = tick_;
  table_ = &t;
  if (t.ordered) {
    CompareOrdered(t);
  } else {
    CompareUnordered(t);
  }
  if (kind_ == Kind::kMark) {
    t.seen_tick = tick_;
    return false;
  }
  touched_.insert(touched_.end(), t.again.begin(), t.again.end());
  if (!scratch_used_ && touched_.empty()) {
    t.seen_tick = tick_;
    return false;
  }
  if (!scratch_used_) UseScratch(t);
  cursor_ = tag_cursor_ = 0;
  phase_ = Phase::kHeads;
  return true;
}

void SnapshotPass::CompareOrdered(ShadowTable& t) {
  PackedBuckets packed{t.masks.data(), t.words.data()};
  for (uint32_t b = 0; b < buckets_; b += kBucketsAtATime) {
    const uint32_t count = std::min(kBucketsAtATime, buckets_ - b);
    const std::byte* at = region_.At(subtable_.address + uint64_t{b} * kBucketBytes);
    PackedBuckets here = packed;
    for (uint64_t differ = compare_(at, count, packed); differ != 0; differ &= differ - 1) {
      const auto next = static_cast<uint32_t>(std::countr_zero(differ));
      while (here.masks != t.masks.data() + b + next) here.words += std::popcount(*here.masks++);
      DiffBucket(t, b + next, static_cast<size_t>(here.words - t.words.data()));
    }
  }
}

// `first`: of the bucket's words in the table.
void SnapshotPass::DiffBucket(ShadowTable& t, uint32_t bucket, size_t first) {
  if (kind_ != Kind::kMark && !scratch_used_) UseScratch(t);
  size_t i = first;
  for (uint32_t s = 0; s < kSlotsPerBucket; ++s) {
    const uint32_t slot = bucket * kSlotsPerBucket + s;
    const SlotWord now = Now(slot);
    const bool had = (t.masks[bucket] >> s & 1) != 0;
    const size_t at = i;
    i += had;
    if (had && t.words[at] == now.raw()) continue;
    if (!had && now.empty()) continue;
    if (kind_ == Kind::kMark) {
      if (had) t.words[at] = StaleWord(SlotWord(t.words[at]));
      continue;
    }
    if (had) touched_.push_back(t.tags[at].Tag(SlotWord(t.words[at])));
    scratch_.Drop(slot);
    if (!now.empty()) candidates_.push_back({.slot = slot});
  }
}

// After a split: the same words, in other places.
void SnapshotPass::CompareUnordered(ShadowTable& t) {
  absl::flat_hash_map<uint64_t, size_t> then;
  then.reserve(t.records());
  for (size_t i = 0; i < t.records(); ++i) {
    if (SlotWord(t.words[i]).live()) then.emplace(t.words[i], i);
  }
  std::vector<bool> found(t.records(), false);
  if (kind_ != Kind::kMark) UseScratch(ShadowTable{});
  for (uint32_t slot = 0; slot < buckets_ * kSlotsPerBucket; ++slot) {
    const SlotWord now = Now(slot);
    if (now.empty()) continue;
    const auto at = then.find(now.raw());
    if (at != then.end() && !found[at->second]) {
      found[at->second] = true;
      if (kind_ != Kind::kMark) scratch_.Keep(slot, now.raw(), t.tags[at->second]);
    } else if (kind_ != Kind::kMark) {
      candidates_.push_back({.slot = slot});
    }
  }
  for (size_t i = 0; i < t.records(); ++i) {
    if (found[i]) continue;
    if (kind_ == Kind::kMark) {
      t.words[i] = StaleWord(SlotWord(t.words[i]));
    } else {
      touched_.push_back(t.tags[i].Tag(SlotWord(t.words[i])));
    }
  }
}

// An empty table leaves all slots empty.
void SnapshotPass::UseScratch(const ShadowTable& t) {
  scratch_used_ = true;
  scratch_.Fill(buckets_, t);
}

// Heads: which tags the new records have.

bool SnapshotPass::Before(const Candidate& a, const Candidate& b) {
  if (a.tag != b.tag) return a.tag < b.tag;
  if ((a.copied == 0) != (b.copied == 0)) return a.copied != 0;
  return a.slot < b.slot;
}

void SnapshotPass::ReadHeads() {
  const size_t end = std::min(candidates_.size(), cursor_ + kHeadsPerStep);
  for (; cursor_ < end; ++cursor_) {
    if (cursor_ % kBurst == 0) {
      LookAheadAt(cursor_ == 0 ? 0 : cursor_ + kAhead, cursor_ + kAhead + kBurst);
    }
    ReadHead(candidates_[cursor_]);
  }
  if (cursor_ == candidates_.size()) EndHeads();
}

void SnapshotPass::LookAheadAt(size_t first, size_t end) const {
  for (size_t i = first; i < std::min(end, candidates_.size()); ++i) {
    LookAhead(candidates_[i].slot);
  }
}

void SnapshotPass::ReadHead(Candidate& c) {
  Sight sight;
  const Seen seen = See(c.slot, sight);
  figures_.damaged += seen == Seen::kDamaged;
  if (seen != Seen::kRecord) return;
  const uint64_t bytes = sight.record.header.record_bytes();
  if (bytes <= kSmallRecord) {
    const size_t at = small_.size();
    small_.insert(small_.end(), sight.record.data, sight.record.data + bytes);
    if (!CopiedWell(small_.data() + at, sight.record.header)) {
      small_.resize(at);
      ++figures_.damaged;
      return;
    }
    c.word = sight.word;
    c.copy_at = static_cast<uint32_t>(at);
    c.copied = static_cast<uint16_t>(bytes);
  }
  c.good = true;
  c.tag = sight.tag;
}

void SnapshotPass::EndHeads() {
  std::erase_if(candidates_, [](const Candidate& c) { return !c.good; });
  SortCandidates();
  AddTouchedTags();
  if (FindTwins()) SortCandidates();
  cursor_ = tag_cursor_ = 0;
  phase_ = Phase::kCopy;
}

// Tags are spread evenly behind the subtable's prefix: into bins by their next bits, then each bin.
void SnapshotPass::SortCandidates() {
  constexpr uint32_t kBinBits = 11;
  constexpr uint32_t kBins = 1 << kBinBits;
  const uint32_t shift = static_cast<uint32_t>(kSnapshotTagBits) - subtable_.depth - kBinBits;
  const auto bin = [shift](const Candidate& c) { return c.tag >> shift & (kBins - 1); };
  std::vector<uint32_t> ends(kBins, 0);
  for (const Candidate& c : candidates_) ++ends[bin(c)];
  for (uint32_t b = 1; b < kBins; ++b) ends[b] += ends[b - 1];
  sorted_.resize(candidates_.size());
  for (size_t i = candidates_.size(); i-- > 0;)
    sorted_[--ends[bin(candidates_[i])]] = candidates_[i];
  // Each now says where its bin begins.
  for (uint32_t b = 0; b < kBins; ++b) {
    const auto end = b + 1 < kBins ? sorted_.begin() + ends[b + 1] : sorted_.end();
    std::sort(sorted_.begin() + ends[b], end, Before);
  }
  candidates_.swap(sorted_);
}

// Those of the candidates to those that lost a record.
void SnapshotPass::AddTouchedTags() {
  std::sort(touched_.begin(), touched_.end());
  const auto own = static_cast<ptrdiff_t>(touched_.size());
  for (const Candidate& c : candidates_) touched_.push_back(c.tag);
  std::inplace_merge(touched_.begin(), touched_.begin() + own, touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
}

// Unchanged records that share an entry with one that changed: the entry is written whole. Whether
// there are any.
bool SnapshotPass::FindTwins() {
  const size_t before = candidates_.size();
  constexpr uint32_t kFilterBits = 1 << 16;
  std::vector<bool> filter(kFilterBits, false);
  const auto in_filter = [](uint64_t tag) {
    return static_cast<uint32_t>((tag ^ tag >> 20) % kFilterBits);
  };
  for (uint64_t tag : touched_) filter[in_filter(tag)] = true;
  for (uint32_t slot = 0; slot < scratch_.slots(); ++slot) {
    if (scratch_.empty(slot)) continue;
    const uint64_t tag = scratch_.TagAt(slot);
    if (!filter[in_filter(tag)]) continue;
    if (!std::binary_search(touched_.begin(), touched_.end(), tag)) continue;
    scratch_.Drop(slot);
    candidates_.push_back({.tag = tag, .slot = slot, .good = true});
  }
  return candidates_.size() != before;
}

// Copies.

void SnapshotPass::LookAhead(uint32_t slot) const {
  const SlotWord word = Now(slot);
  const Geometry& g = region_.geometry();
  if (!word.live() || word.heap_offset() >= g.heap_bytes) return;
  const std::byte* record = region_.At(g.RecordAddress(word));
  constexpr uint32_t kHeadBytes = 64;
  constexpr uint32_t kMostBytes = 256;
  const bool slab = IsSlabClass(word.size_class());
  PrefetchBytes(record, slab ? std::min(BlockBytes(word.size_class()), kMostBytes) : kHeadBytes);
}

bool SnapshotPass::CopyRecords() {
  size_t records = 0;
  const size_t before = batch_.bytes.size();
  while (tag_cursor_ < touched_.size()) {
    if (records >= kRecordsPerStep || batch_.bytes.size() - before >= kBytesPerStep) return true;
    const uint64_t tag = touched_[tag_cursor_];
    if (item_.tag != tag) {
      if (batch_.items.empty()) {
        if (!sink_->Room()) return false;
        batch_.bytes.reserve(SnapshotBatch::kFullBytes + kBytesPerStep);
        batch_.items.reserve(std::min(touched_.size() - tag_cursor_, kBatchItems));
      }
      item_ = {tag, batch_.bytes.size(), 0};
    }
    for (; cursor_ < candidates_.size() && candidates_[cursor_].tag == tag; ++cursor_, ++records) {
      if (cursor_ + kAhead < candidates_.size() && candidates_[cursor_ + kAhead].copied == 0) {
        LookAhead(candidates_[cursor_ + kAhead].slot);
      }
      if (!CopyOne(candidates_[cursor_])) return true;
    }
    FinishTag();
    if (batch_.bytes.size() >= SnapshotBatch::kFullBytes || batch_.items.size() >= kBatchItems) {
      PushBatch(false);
      return true;
    }
  }
  FinishTable();
  return true;
}

bool SnapshotPass::CopyOne(const Candidate& c) {
  if (large_) return CopyLarge(c);
  if (c.copied != 0) {
    const std::byte* copy = small_.data() + c.copy_at;
    batch_.bytes.insert(batch_.bytes.end(), copy, copy + c.copied);
    Note(c, c.word, c.copied);
    return true;
  }
  Sight sight;
  const Seen seen = See(c.slot, sight);
  figures_.damaged += seen == Seen::kDamaged;
  // Another key's record by now: that of this tag is gone. The next pass sees the new one.
  if (seen != Seen::kRecord || sight.tag != c.tag) return true;
  const uint64_t bytes = sight.record.header.record_bytes();
  if (bytes > kLargeRecord) {
    large_.emplace(sight.word, sight.record.data, sight.record.header, tick_);
    return false;
  }
  batch_.bytes.insert(batch_.bytes.end(), sight.record.data, sight.record.data + bytes);
  if (CopiedWell(batch_.bytes.data() + batch_.bytes.size() - bytes, sight.record.header)) {
    Note(c, sight.word, bytes);
  } else {
    Unappend(bytes);
  }
  return true;
}

bool SnapshotPass::CopyLarge(const Candidate& c) {
  if (!large_->Step(batch_.bytes)) return false;
  if (large_->Good()) {
    Note(c, large_->word(), large_->record_bytes());
  } else {
    Unappend(large_->record_bytes());
  }
  large_.reset();
  return true;
}

void SnapshotPass::Unappend(uint64_t bytes) {
  batch_.bytes.resize(batch_.bytes.size() - bytes);
  ++figures_.damaged;
}

// Judged by the copy: what lies in the heap may change, if only by a faulty client's doing.
// `header`: as it was read there, by which the copy was made.
bool SnapshotPass::CopiedWell(const std::byte* copy, RecordHeader header) {
  const RecordImage image(copy);
  return image.header().raw() == header.raw() && image.whole();
}

// The record that was copied last.
void SnapshotPass::Note(const Candidate& c, SlotWord word, uint64_t bytes) {
  DropSameKey(bytes);
  const RecordImage copy(batch_.bytes.data() + batch_.bytes.size() - bytes);
  // The frozen bit stands for "written by this pass".
  scratch_.Keep(c.slot, word.Frozen().raw(), ShadowTag::Of(c.tag));
  slots_of_tag_.push_back(c.slot);
  item_.bytes += bytes;
  ++figures_.records;
  figures_.highest_version = std::max(figures_.highest_version, copy.version());
}

// A key that was removed and put again while its tag was copied may have been met in two slots. The
// copy made later is the one to keep; the shadow forgets the other's slot, so that the next pass
// looks at it.
void SnapshotPass::DropSameKey(uint64_t bytes) {
  const RecordImage last(batch_.bytes.data() + batch_.bytes.size() - bytes);
  uint64_t offset = item_.offset;
  for (size_t i = 0; i < slots_of_tag_.size(); ++i) {
    const RecordImage other(batch_.bytes.data() + offset);
    const uint64_t other_bytes = other.bytes();
    if (!std::ranges::equal(other.key(), last.key())) {
      offset += other_bytes;
      continue;
    }
    const auto at = batch_.bytes.begin() + static_cast<ptrdiff_t>(offset);
    batch_.bytes.erase(at, at + static_cast<ptrdiff_t>(other_bytes));
    item_.bytes -= other_bytes;
    scratch_.Drop(slots_of_tag_[i]);
    slots_of_tag_.erase(slots_of_tag_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void SnapshotPass::FinishTag() {
  if (slots_of_tag_.empty()) {
    deleted_.push_back(item_.tag);
    ++figures_.deletes;
  } else {
    ++figures_.puts;
  }
  batch_.items.push_back(item_);
  slots_of_tag_.clear();
  item_ = kNoItem;
  ++tag_cursor_;
}

void SnapshotPass::FinishTable() {
  ShadowTable& t = *table_;
  scratch_.PackInto(t);
  t.pass = pass_;
  t.seen_tick = compared_tick_;
  t.again = {};
  t.again_if_failed.assign(deleted_.begin(), deleted_.end());
  NextTable();
}

}  // namespace dunlin
