#include "server/snapshot/snapshot_loader.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/growth/grower.h"

namespace dunlin {
namespace {

constexpr uint32_t kMostThreads = 8;
// Of the snapshot's files, for one range: much more than what is read ahead of its end in vain, and
// little enough for all threads to end at about the same time.
constexpr uint64_t kRangeBytes = 16 << 20;
constexpr uint64_t kLeastRangeBytes = 1 << 20;
constexpr uint64_t kRangesOfASmallOne = 32;
// What finds no room while other threads have blocks in hand is kept until they have ended: so much
// of the heap at most, far more than they can have in hand.
constexpr uint64_t kLateShare = 32;
// Each doubles the room for the key.
constexpr int kMostSplits = 8;
// A tag's position is its highest bits.
constexpr int kTagsAPositionShift = kSnapshotTagBits - kMaxDirectoryDepth;

uint64_t RangesOf(const SnapshotInfo& info) {
  const uint64_t bytes = info.file_bytes();
  const uint64_t ranges =
      std::min(bytes / kLeastRangeBytes, std::max(bytes / kRangeBytes, kRangesOfASmallOne));
  return std::clamp<uint64_t>(ranges, 1, IndexSpace::kPositions);
}

}  // namespace

// What one thread does.
class SnapshotLoader::Worker {
 public:
  explicit Worker(SnapshotLoader* loader)
      : loader_(loader),
        inserter_(loader->region_, &loader->mutex_, loader->parts_.allocator, loader->tick_) {}

  void Run() {
    for (Range range = loader_->Claim(); !range.empty(); range = loader_->Claim()) {
      if (const absl::Status status = LoadRange(range); !status.ok()) loader_->Fail(status);
    }
  }
  RecordInserter& inserter() { return inserter_; }
  uint64_t records() const { return records_; }
  uint64_t expired() const { return expired_; }

 private:
  absl::Status LoadRange(const Range& range) {
    const auto tag = [](uint32_t position) { return uint64_t{position} << kTagsAPositionShift; };
    next_ = range.data();
    DUNLIN_ASSIGN_OR_RETURN(
        const SnapshotTotals totals,
        loader_->reader_->ForEach(
            tag(IndexSpace::First(range.front())), tag(IndexSpace::Next(range.back())),
            [this](uint64_t t, const SnapshotRecord& record) { return Take(t, record); }));
    FinishTable();
    loader_->Add(totals);
    return absl::OkStatus();
  }

  absl::Status Take(uint64_t tag, const SnapshotRecord& record) {
    const uint32_t position = PositionOfTag(tag);
    if (table_ == nullptr || position >= IndexSpace::Next(*table_)) EnterTable(position);
    const std::optional<uint64_t> expiry = loader_->ExpiryTick(record);
    if (!expiry) {
      ++expired_;
      again_.push_back(tag);
      return absl::OkStatus();
    }
    RecordInserter::Place place;
    const Placed placed = inserter_.Insert(*table_, record, *expiry, &place);
    if (placed != Placed::kYes) return loader_->Defer(tag, record, *expiry, placed);
    scratch_.Keep(place.slot, place.word.raw(), ShadowTag::Of(tag));
    ++records_;
    return absl::OkStatus();
  }

  void EnterTable(uint32_t position) {
    FinishTable();
    while (position >= IndexSpace::Next(*next_)) ++next_;
    table_ = next_;
    scratch_.Clear(loader_->buckets_);
  }

  void FinishTable() {
    if (table_ == nullptr) return;
    loader_->KeepTable(*std::exchange(table_, nullptr), scratch_, std::exchange(again_, {}));
  }

  SnapshotLoader* loader_;
  RecordInserter inserter_;
  uint64_t records_ = 0;
  uint64_t expired_ = 0;
  const IndexSpace::Subtable* next_ = nullptr;   // of the range: none before it is met any more
  const IndexSpace::Subtable* table_ = nullptr;  // that is being filled
  TableScratch scratch_;
  std::vector<uint64_t> again_;  // tags of the subtable that have no record in the region
};

SnapshotLoader::SnapshotLoader(const RegionView& region, const Parts& parts, uint64_t tick,
                               int64_t unix_ms)
    : region_(region),
      parts_(parts),
      tick_(tick),
      unix_ms_(unix_ms),
      buckets_(region.geometry().bucket_mask + 1) {}

absl::Status SnapshotLoader::Load(const SnapshotReader& reader, bool may_be_cut) {
  reader_ = &reader;
  may_be_cut_ = may_be_cut;
  expected_ = reader.info().counts.records;
  const uint64_t ranges = RangesOf(reader.info());
  range_positions_ = static_cast<uint32_t>(IndexSpace::kPositions / ranges);
  const uint64_t threads = std::clamp<uint64_t>(std::thread::hardware_concurrency(), 1,
                                                std::min<uint64_t>(ranges, kMostThreads));
  std::vector<Worker> workers(threads, Worker(this));
  RunWorkers(workers);
  RecordInserter& inserter = workers.front().inserter();
  for (Worker& worker : workers) {
    figures_.records += worker.records();
    figures_.expired += worker.expired();
    if (&worker != &workers.front()) inserter.TakeOver(worker.inserter());
  }
  const absl::Status late = InsertLate(inserter);
  inserter.GiveBackBlocks();
  return late;
}

void SnapshotLoader::RunWorkers(std::vector<Worker>& workers) {
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers.size(); ++i) {
    threads.emplace_back([&worker = workers[i]] { worker.Run(); });
  }
  workers.front().Run();
  for (std::thread& thread : threads) thread.join();
}

absl::Status SnapshotLoader::DoesNotFit() const {
  const SnapshotInfo& info = reader_->info();
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

// Subtables are split when their turn comes, so that the index takes no memory from records that
// are loaded before: of a snapshot that doesn't fit as much is loaded as can be.
SnapshotLoader::Range SnapshotLoader::Claim() {
  const MutexLock lock(mutex_);
  Range range;
  const uint64_t end =
      std::min<uint64_t>(next_position_ + range_positions_, IndexSpace::kPositions);
  if (!status_.ok() || full_) return range;
  while (next_position_ < end) {
    const auto position = static_cast<uint32_t>(next_position_);
    while (SplitIsDue(parts_.index->At(position)) && parts_.split(position)) {
    }
    range.push_back(parts_.index->At(position));
    next_position_ = IndexSpace::Next(range.back());
  }
  return range;
}

std::optional<uint64_t> SnapshotLoader::ExpiryTick(const SnapshotRecord& record) const {
  if (!record.expiry_unix_ms) return 0;
  const int64_t left = *record.expiry_unix_ms - unix_ms_;
  if (left <= 0) return std::nullopt;
  return tick_ + static_cast<uint64_t>(left);
}

absl::Status SnapshotLoader::Defer(uint64_t tag, const SnapshotRecord& record, uint64_t expiry_tick,
                                   Placed placed) {
  Late late{tag, expiry_tick, record, {}};
  late.bytes.reserve(record.key.size() + record.value.size());
  late.bytes.insert(late.bytes.end(), record.key.begin(), record.key.end());
  late.bytes.insert(late.bytes.end(), record.value.begin(), record.value.end());
  late.record.key = std::span(late.bytes).first(record.key.size());
  late.record.value = std::span(late.bytes).subspan(record.key.size());
  const MutexLock lock(mutex_);
  const bool much = late_bytes_ >= region_.geometry().heap_bytes / kLateShare;
  if (placed == Placed::kMemoryFull && much) {
    if (may_be_cut_) {
      ++cut_;
      return absl::OkStatus();
    }
    full_ = true;
    return absl::ResourceExhaustedError("memory is full");
  }
  late_bytes_ += late.bytes.size();
  late_.push_back(std::move(late));
  return absl::OkStatus();
}

void SnapshotLoader::KeepTable(const IndexSpace::Subtable& s, const TableScratch& scratch,
                               std::vector<uint64_t> again) {
  ShadowTable packed;
  packed.prefix = s.prefix;
  packed.depth = s.depth;
  packed.seen_tick = tick_;
  packed.again = std::move(again);
  scratch.PackInto(packed);
  const MutexLock lock(mutex_);
  parts_.shadow->TableOf(s) = std::move(packed);
}

void SnapshotLoader::Add(const SnapshotTotals& totals) {
  const MutexLock lock(mutex_);
  totals_.Add(totals);
}

// Damage is what is told, whatever else there is.
void SnapshotLoader::Fail(const absl::Status& status) {
  const MutexLock lock(mutex_);
  if (status_.ok() || absl::IsDataLoss(status)) status_ = Unshared(status);
}

absl::Status SnapshotLoader::InsertLate(RecordInserter& inserter) {
  std::vector<Late> late;
  {
    const MutexLock lock(mutex_);
    if (full_ && !absl::IsDataLoss(status_)) return DoesNotFit();
    DUNLIN_RETURN_IF_ERROR(status_);
    DUNLIN_RETURN_IF_ERROR(reader_->CheckTotals(totals_));
    figures_.cut = cut_;
    late = std::exchange(late_, {});
  }
  for (const Late& each : late) {
    const Placed placed = InsertLate(inserter, each);
    if (placed == Placed::kYes) {
      ++figures_.records;
    } else if (may_be_cut_) {
      ++figures_.cut;
    } else if (placed == Placed::kMemoryFull) {
      return DoesNotFit();
    } else {
      return absl::ResourceExhaustedError(
          "the snapshot does not fit: the index is full; raise memory or records");
    }
  }
  return absl::OkStatus();
}

// The shadow does not have them: the next pass writes them once more, which changes nothing.
SnapshotLoader::Placed SnapshotLoader::InsertLate(RecordInserter& inserter, const Late& late) {
  const uint32_t position = PositionOfTag(late.tag);
  for (int splits = 0;; ++splits) {
    RecordInserter::Place place;
    const Placed placed =
        inserter.Insert(parts_.index->At(position), late.record, late.expiry_tick, &place);
    if (placed != Placed::kBucketsFull) return placed;
    const MutexLock lock(mutex_);
    if (splits == kMostSplits || !parts_.split(position)) return placed;
  }
}

}  // namespace dunlin
