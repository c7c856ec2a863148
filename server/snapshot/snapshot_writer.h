#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/sync.h"
#include "common/base/unique_fd.h"
#include "common/snapshot/snapshot_store.h"
#include "server/snapshot/snapshot_batch.h"

namespace dunlin {

// Brings what passes hand on to disk, in a thread of its own: a slow or sick disk must not hold up
// whoever serves clients. Commands are carried out in order; what came of them is told by fd() and
// TakeResults. Thread safe, but meant for one other thread.
class SnapshotWriter final : public SnapshotSink {
 public:
  // Of what was pushed and not yet written: more than this and there is no room. One batch on top.
  static constexpr size_t kMostQueuedBytes = size_t{8} << 20;

  struct Result {
    enum class Kind : uint8_t { kCommitted, kFailed, kListed, kDeleted };
    Kind kind = Kind::kFailed;
    uint64_t number = 0;      // of the pass, or of the request
    absl::Status status;      // kFailed: why; kListed, kDeleted: what came of it
    SnapshotInfo info;        // kCommitted
    SnapshotListing listing;  // kListed
  };

  // `clock` is borrowed.
  SnapshotWriter(std::unique_ptr<SnapshotStore> store, const Clock* clock);
  // From now on old snapshots are not deleted, however many there are.
  void KeepAll() { keep_all_ = true; }
  // What was not committed is given up.
  ~SnapshotWriter() override;

  // Readable when there are results, or room after there was none.
  int fd() const { return wake_.get(); }

  // A pass: everything if `full`. `unix_minus_tick`: what to add to a tick for the wall clock's
  // milliseconds. A pass that fails says so at once; the rest of it is then thrown away.
  void BeginPass(uint64_t pass, bool full, int64_t unix_minus_tick);
  bool Room() const override;
  void Push(SnapshotBatch batch) override;
  SnapshotBatch Spare() override;
  // Makes the snapshot, and deletes those that are not to be kept any longer. finished_unix_ms is
  // filled in.
  void Commit(const SnapshotCounts& counts);
  void Abort();

  void List(uint64_t request);
  void Delete(uint64_t request, uint64_t id);

  // Also takes note that there is room.
  std::vector<Result> TakeResults();
  // Waits until all commands are carried out; for the end.
  void Finish();

 private:
  struct Begin {
    uint64_t pass;
    bool full;
    int64_t unix_minus_tick;
  };
  struct End {
    bool commit;
    SnapshotCounts counts;
  };
  struct Administer {
    uint64_t request;
    uint64_t id;  // 0: list
  };
  using Command = std::variant<Begin, SnapshotBatch, End, Administer>;

  void Run();
  void Add(Command command);
  void Tell(Result result);
  void Do(const Begin& begin);
  void Do(SnapshotBatch& batch);
  void Do(const End& end);
  void Do(const Administer& administer);
  absl::Status Write(SnapshotBatch& batch);
  void EncodeInPlace(std::span<std::byte> records) const;
  void Fail(const absl::Status& status);

  std::atomic<bool> keep_all_{false};

  // The thread's.
  std::unique_ptr<SnapshotStore> store_;
  const Clock* clock_;
  uint64_t pass_ = 0;
  bool under_way_ = false;
  int64_t unix_minus_tick_ = 0;

  UniqueFd wake_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Command> commands_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<SnapshotBatch> spares_ ABSL_GUARDED_BY(mutex_);  // until the pass ends
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  mutable bool room_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Result> results_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace dunlin
