#include "server/snapshot/record_feed.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr size_t kBatchBytes = 512 << 10;
constexpr size_t kBatchRecords = 8192;
// Of each thread: a slice, so that the others' go on while one is taken.
constexpr size_t kMostBatches = 8;
// The memory of one with a large value is not kept.
constexpr size_t kMostSpareBytes = 4 * kBatchBytes;
constexpr uint64_t kSliceBytes = 4 << 20;
constexpr uint64_t kMostSlices = 1 << 20;

uint64_t SlicesOf(const SnapshotInfo& info) {
  return std::clamp<uint64_t>(info.file_bytes() / kSliceBytes, 1, kMostSlices);
}

uint64_t FirstTag(uint64_t slice, uint64_t slices) {
  return slice == slices ? kSnapshotTagEnd : kSnapshotTagEnd / slices * slice;
}

void Append(uint64_t tag, const SnapshotRecord& record, RecordFeed::Batch& batch) {
  RecordFeed::Batch::Item item;
  item.tag = tag;
  item.version = record.version;
  item.expiry_unix_ms = record.expiry_unix_ms;
  item.offset = batch.bytes.size();
  item.key_bytes = static_cast<uint32_t>(record.key.size());
  item.value_bytes = static_cast<uint32_t>(record.value.size());
  item.unconditional = record.unconditional;
  batch.items.push_back(item);
  batch.bytes.insert(batch.bytes.end(), record.key.begin(), record.key.end());
  batch.bytes.insert(batch.bytes.end(), record.value.begin(), record.value.end());
}

}  // namespace

RecordFeed::RecordFeed(const SnapshotReader& reader, uint32_t threads)
    : reader_(reader),
      slices_(SlicesOf(reader.info())),
      lane_count_(static_cast<uint32_t>(std::clamp<uint64_t>(threads, 1, slices_))),
      lanes_(lane_count_) {
  for (uint32_t i = 0; i < lane_count_; ++i) threads_.emplace_back([this, i] { Run(i); });
}

RecordFeed::~RecordFeed() {
  {
    MutexLock lock(mutex_);
    given_up_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool RecordFeed::Hand(uint32_t lane, Batch* batch) {
  MutexLock lock(mutex_);
  while (lanes_[lane].batches.size() >= kMostBatches && !given_up_) changed_.Wait(mutex_);
  lanes_[lane].batches.push_back(std::move(*batch));
  *batch = {};
  if (!spares_.empty()) {
    *batch = std::move(spares_.back());
    spares_.pop_back();
  }
  changed_.NotifyAll();
  return !given_up_;
}

absl::Status RecordFeed::ReadSlice(uint32_t lane, uint64_t slice) {
  Batch batch;
  const auto take = [&](uint64_t tag, const SnapshotRecord& record) -> absl::Status {
    Append(tag, record, batch);
    if (batch.bytes.size() < kBatchBytes && batch.items.size() < kBatchRecords) {
      return absl::OkStatus();
    }
    return Hand(lane, &batch) ? absl::OkStatus() : absl::CancelledError("given up");
  };
  DUNLIN_ASSIGN_OR_RETURN(
      const SnapshotTotals totals,
      reader_.ForEach(FirstTag(slice, slices_), FirstTag(slice + 1, slices_), take));
  {
    MutexLock lock(mutex_);
    totals_.Add(totals);
  }
  batch.ends_slice = true;
  return Hand(lane, &batch) ? absl::OkStatus() : absl::CancelledError("given up");
}

void RecordFeed::Run(uint32_t lane) {
  absl::Status status;
  for (uint64_t slice = lane; slice < slices_ && status.ok(); slice += lane_count_) {
    status = ReadSlice(lane, slice);
  }
  MutexLock lock(mutex_);
  lanes_[lane].status = Unshared(status);
  changed_.NotifyAll();
}

std::optional<RecordFeed::Batch> RecordFeed::Next(Batch used) {
  used.Clear();
  MutexLock lock(mutex_);
  if (used.bytes.capacity() != 0 && used.bytes.capacity() <= kMostSpareBytes) {
    spares_.push_back(std::move(used));
  }
  if (slice_ == slices_) return std::nullopt;
  Lane& lane = lanes_[slice_ % lane_count_];
  while (lane.batches.empty() && lane.status.ok()) changed_.Wait(mutex_);
  if (lane.batches.empty()) return std::nullopt;
  Batch batch = std::move(lane.batches.front());
  lane.batches.pop_front();
  slice_ += batch.ends_slice;
  changed_.NotifyAll();
  return batch;
}

absl::Status RecordFeed::status() {
  MutexLock lock(mutex_);
  if (slice_ == slices_) return reader_.CheckTotals(totals_);
  return lanes_[slice_ % lane_count_].status;
}

}  // namespace dunlin
