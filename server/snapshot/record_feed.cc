#include "server/snapshot/record_feed.h"

#include <utility>

#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr size_t kBatchBytes = 512 << 10;
constexpr size_t kBatchRecords = 8192;
constexpr size_t kMostBatches = 8;

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

RecordFeed::RecordFeed(const SnapshotReader& reader)
    : reader_(reader), thread_([this] { Run(); }) {}

RecordFeed::~RecordFeed() {
  {
    MutexLock lock(mutex_);
    given_up_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

bool RecordFeed::Hand(Batch batch) {
  MutexLock lock(mutex_);
  while (batches_.size() >= kMostBatches && !given_up_) changed_.Wait(mutex_);
  batches_.push_back(std::move(batch));
  changed_.NotifyAll();
  return !given_up_;
}

void RecordFeed::Run() {
  Batch batch;
  const auto take = [&](uint64_t tag, const SnapshotRecord& record) -> absl::Status {
    Append(tag, record, batch);
    if (batch.bytes.size() < kBatchBytes && batch.items.size() < kBatchRecords) {
      return absl::OkStatus();
    }
    const bool wanted = Hand(std::move(batch));
    batch = {};
    batch.bytes.reserve(kBatchBytes);
    batch.items.reserve(kBatchRecords);
    return wanted ? absl::OkStatus() : absl::CancelledError("given up");
  };
  const absl::StatusOr<SnapshotTotals> totals = reader_.ForEach(0, kSnapshotTagEnd, take);
  absl::Status status = totals.status();
  if (totals.ok()) {
    Hand(std::move(batch));
    status = reader_.CheckTotals(*totals);
  }
  MutexLock lock(mutex_);
  status_ = Unshared(status);
  over_ = true;
  changed_.NotifyAll();
}

std::optional<RecordFeed::Batch> RecordFeed::Next() {
  MutexLock lock(mutex_);
  while (batches_.empty() && !over_) changed_.Wait(mutex_);
  if (batches_.empty()) return std::nullopt;
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  changed_.NotifyAll();
  return batch;
}

absl::Status RecordFeed::status() {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace dunlin
