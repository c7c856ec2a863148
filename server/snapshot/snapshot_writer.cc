#include "server/snapshot/snapshot_writer.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/snapshot/snapshot_entry.h"
#include "server/snapshot/record_image.h"

namespace dunlin {
namespace {

// As many as may be queued: memory that is given back has to be cleared by the kernel once more.
constexpr size_t kMostSpares = SnapshotWriter::kMostQueuedBytes / SnapshotBatch::kFullBytes;
constexpr int64_t kNanosPerMilli = 1'000'000;

size_t CostOf(const SnapshotBatch& batch) {
  return batch.bytes.size() + batch.items.size() * sizeof(SnapshotBatch::Item);
}

SnapshotRecord ToDisk(const RecordImage& image, int64_t unix_minus_tick) {
  SnapshotRecord record;
  record.version = image.version();
  record.unconditional = image.header().unconditional();
  if (image.header().expires()) {
    record.expiry_unix_ms = static_cast<int64_t>(image.expiry()) + unix_minus_tick;
  }
  record.key = image.key();
  record.value = image.value();
  return record;
}

}  // namespace

SnapshotWriter::SnapshotWriter(std::unique_ptr<SnapshotStore> store, const Clock* clock)
    : store_(std::move(store)),
      clock_(clock),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "snapshot-writer");
}

SnapshotWriter::~SnapshotWriter() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void SnapshotWriter::Add(Command command) {
  MutexLock lock(mutex_);
  if (const auto* batch = std::get_if<SnapshotBatch>(&command)) queued_bytes_ += CostOf(*batch);
  commands_.push_back(std::move(command));
  changed_.NotifyAll();
}

void SnapshotWriter::BeginPass(uint64_t pass, bool full, int64_t unix_minus_tick) {
  Add(Begin{pass, full, unix_minus_tick});
}

bool SnapshotWriter::Room() const {
  MutexLock lock(mutex_);
  room_wanted_ = queued_bytes_ >= kMostQueuedBytes;
  return !room_wanted_;
}

void SnapshotWriter::Push(SnapshotBatch batch) { Add(std::move(batch)); }

SnapshotBatch SnapshotWriter::Spare() {
  MutexLock lock(mutex_);
  if (spares_.empty()) return {};
  SnapshotBatch spare = std::move(spares_.back());
  spares_.pop_back();
  return spare;
}

void SnapshotWriter::Commit(const SnapshotCounts& counts) { Add(End{true, counts}); }

void SnapshotWriter::Abort() { Add(End{false, {}}); }

void SnapshotWriter::List(uint64_t request) { Add(Administer{request, 0}); }

void SnapshotWriter::Delete(uint64_t request, uint64_t id) { Add(Administer{request, id}); }

std::vector<SnapshotWriter::Result> SnapshotWriter::TakeResults() {
  eventfd_t ignored;
  eventfd_read(wake_.get(), &ignored);
  MutexLock lock(mutex_);
  return std::exchange(results_, {});
}

void SnapshotWriter::Finish() {
  MutexLock lock(mutex_);
  while (!commands_.empty() || busy_) changed_.Wait(mutex_);
}

void SnapshotWriter::Tell(Result result) {
  result.status = Unshared(result.status);
  MutexLock lock(mutex_);
  results_.push_back(std::move(result));
  eventfd_write(wake_.get(), 1);
}

void SnapshotWriter::Run() {
  for (;;) {
    Command command;
    {
      MutexLock lock(mutex_);
      while (commands_.empty() && !ending_) changed_.Wait(mutex_);
      if (ending_) break;
      command = std::move(commands_.front());
      commands_.pop_front();
      busy_ = true;
    }
    std::visit([this](auto& each) { Do(each); }, command);
    MutexLock lock(mutex_);
    busy_ = false;
    if (auto* batch = std::get_if<SnapshotBatch>(&command)) {
      queued_bytes_ -= CostOf(*batch);
      batch->Clear();
      if (spares_.size() < kMostSpares) spares_.push_back(std::move(*batch));
    }
    if (std::holds_alternative<End>(command)) spares_.clear();
    if (room_wanted_ && queued_bytes_ < kMostQueuedBytes / 2) {
      room_wanted_ = false;
      eventfd_write(wake_.get(), 1);
    }
    changed_.NotifyAll();
  }
  if (under_way_) store_->Abort();
  // Its threads and files, too, end here.
  store_ = nullptr;
}

void SnapshotWriter::Fail(const absl::Status& status) {
  under_way_ = false;
  store_->Abort();
  Tell({.kind = Result::Kind::kFailed,
        .number = pass_,
        .status = status,
        .info = {},
        .listing = {}});
}

void SnapshotWriter::Do(const Begin& begin) {
  pass_ = begin.pass;
  unix_minus_tick_ = begin.unix_minus_tick;
  under_way_ = true;
  if (absl::Status status = store_->BeginPass(begin.full); !status.ok()) Fail(status);
}

void SnapshotWriter::Do(SnapshotBatch& batch) {
  if (!under_way_) return;
  if (absl::Status status = Write(batch); !status.ok()) Fail(status);
}

absl::Status SnapshotWriter::Write(SnapshotBatch& batch) {
  for (const SnapshotBatch::Item& item : batch.items) {
    if (item.bytes == 0) {
      DUNLIN_RETURN_IF_ERROR(store_->Delete(item.tag));
      continue;
    }
    const std::span<std::byte> entry = std::span(batch.bytes).subspan(item.offset, item.bytes);
    EncodeInPlace(entry);
    DUNLIN_RETURN_IF_ERROR(store_->Put(item.tag, entry));
  }
  return batch.ends_layer ? store_->BeginLayer() : absl::OkStatus();
}

// A record on disk lies as it does in memory, but for the words in front of the key.
void SnapshotWriter::EncodeInPlace(std::span<std::byte> records) const {
  static_assert(kSnapshotRecordHead == kRecordPrefixBytes && sizeof(int64_t) == kExpiryBytes);
  for (size_t at = 0; at < records.size();) {
    const RecordImage image(records.data() + at);
    const uint64_t bytes = image.bytes();
    EncodeAround(ToDisk(image, unix_minus_tick_), records.data() + at);
    at += bytes;
  }
}

void SnapshotWriter::Do(const End& end) {
  if (!under_way_) return;
  under_way_ = false;
  if (!end.commit) return store_->Abort();
  SnapshotCounts counts = end.counts;
  counts.finished_unix_ms = clock_->WallNanos() / kNanosPerMilli;
  absl::StatusOr<SnapshotInfo> info = store_->Commit(counts);
  if (!info.ok()) return Fail(info.status());
  // The snapshot stands, whatever becomes of the old ones.
  const absl::Status retained = keep_all_ ? absl::OkStatus() : store_->Retain();
  Tell({.kind = Result::Kind::kCommitted,
        .number = pass_,
        .status = retained,
        .info = *std::move(info),
        .listing = {}});
}

void SnapshotWriter::Do(const Administer& administer) {
  Result result;
  result.number = administer.request;
  if (administer.id != 0) {
    result.kind = Result::Kind::kDeleted;
    result.status = store_->DeleteSnapshot(administer.id);
  } else {
    result.kind = Result::Kind::kListed;
    absl::StatusOr<SnapshotListing> listing = store_->List();
    result.status = listing.status();
    if (listing.ok()) result.listing = *std::move(listing);
  }
  Tell(std::move(result));
}

}  // namespace dunlin
