#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/snapshot/manifest.h"
#include "common/snapshot/snapshot_directory.h"
#include "proto/control.pb.h"
#include "server/snapshot/shadow.h"
#include "server/snapshot/snapshot_pass.h"
#include "server/snapshot/snapshot_writer.h"

namespace dunlin {

// When snapshots are made, and what came of them. Drives a SnapshotPass over the index and a
// SnapshotWriter; is told the time. Not thread safe.
class SnapshotService {
 public:
  struct Options {
    uint64_t interval = 60'000;  // ticks from the start of a pass to that of the next; 0: on demand
    uint32_t share_permille = 0;  // of one core that passes may take; for status
  };
  // What the server was started from.
  struct Base {
    std::optional<SnapshotInfo> loaded;
    // Memory was full before all was loaded, and the shadow is worth nothing: the first pass is a
    // full one.
    bool cut = false;
    // There are newer snapshots, which are to be older than the next one: it is made even if
    // nothing changes.
    bool older = false;
    uint64_t loaded_records = 0;
    uint64_t expired_records = 0;      // of the snapshot, left out
    std::vector<std::string> skipped;  // snapshots that could not be used, and why
  };

  // `writer` writes into a directory that was started from what `base` says.
  SnapshotService(const RegionView& region, const IndexSpace* index, const BlockPool* pool,
                  std::unique_ptr<SnapshotWriter> writer, const Options& options);

  // Before the first step: the shadow is to be filled with what is loaded.
  Shadow& shadow() { return shadow_; }
  void SetBase(Base base);
  const Base& base() const { return base_; }
  // As in SnapshotWriter.
  void KeepAll() { writer_->KeepAll(); }

  // Whether Step has something to do.
  bool Due(uint64_t tick) const;
  // Does a small piece of what is due. False: nothing is, for now.
  bool Step(uint64_t tick, int64_t unix_ms, const IndexSpace::Subtable* closed);

  // For a split: as in SnapshotPass.
  bool In(const IndexSpace::Subtable& s) const { return pass_.In(s); }
  void StepBack() { pass_.StepBack(); }
  uint64_t pinned_tick() const { return pass_.pinned_tick(); }

  // Readable when the writer has something to say: Attend is to be called.
  int fd() const { return writer_->fd(); }
  void Attend(uint64_t tick);

  // A snapshot of a pass that begins after this call. Once there is an outcome it is given out
  // once, and forgotten. `even_unchanged`: otherwise the last one will do if nothing changed since.
  uint64_t Request(bool even_unchanged = true);
  std::optional<absl::StatusOr<SnapshotInfo>> TakeOutcome(uint64_t request);
  uint64_t RequestList();
  uint64_t RequestDelete(uint64_t id);
  struct Administered {
    absl::Status status;
    SnapshotListing listing;
  };
  std::optional<Administered> TakeAdministered(uint64_t request);
  // Nobody asks for the outcome any more.
  void Forget(uint64_t request);

  // For the log, once each.
  std::vector<std::string> TakeNews() { return std::exchange(news_, {}); }
  std::vector<std::string> TakeTroubles() { return std::exchange(troubles_, {}); }

  void FillStatus(control::StatusReply& status) const;
  // The time that all pieces took, for status.
  void SetNanos(uint64_t nanos) { nanos_ = nanos; }

 private:
  struct Waiting {
    uint64_t request;
    uint64_t pass;  // the first that began after it; 0: none has
    bool even_unchanged;
  };
  bool WriteDue(uint64_t tick) const;
  bool MarkDue(uint64_t tick) const;
  void Begin(uint64_t tick, int64_t unix_ms);
  void EndWalk(uint64_t tick);
  void Committed(const SnapshotWriter::Result& result, uint64_t tick);
  void Failed(const absl::Status& status, uint64_t tick);
  void Answer(uint64_t pass, const absl::StatusOr<SnapshotInfo>& outcome);

  const Options options_;
  const uint64_t mark_period_;  // ticks in which all words must be compared
  Shadow shadow_;
  SnapshotPass pass_;
  std::unique_ptr<SnapshotWriter> writer_;
  Base base_;

  uint64_t tick_ = 0;
  uint64_t pass_number_ = 0;
  uint64_t committed_pass_ = 0;
  bool full_next_ = true;
  bool publish_next_ = false;  // even if nothing changed
  bool writing_ = false;       // a pass is under way, or its commit
  bool walked_ = false;        // ... its walk is over
  bool begun_ = false;         // at least one pass has begun
  uint64_t began_tick_ = 0;
  int64_t began_unix_ms_ = 0;
  uint64_t marked_tick_ = 0;  // when the last walk of any kind began
  uint64_t retry_tick_ = 0;   // not before
  uint32_t failures_in_row_ = 0;

  uint64_t requests_ = 0;
  std::vector<Waiting> waiting_;
  std::map<uint64_t, absl::StatusOr<SnapshotInfo>> outcomes_;
  std::map<uint64_t, Administered> administered_;

  std::optional<SnapshotInfo> last_;
  uint64_t highest_version_ = 0;
  uint64_t made_ = 0;
  uint64_t failed_ = 0;
  uint64_t unchanged_ = 0;
  uint64_t covered_tick_ = 0;  // what was acknowledged before it is on disk
  uint64_t pass_ticks_ = 0;    // that the last pass took, until it was on disk
  uint64_t damaged_ = 0;       // records that the last pass had to leave out
  std::string trouble_;        // why the last attempt failed; empty if it didn't
  uint64_t nanos_ = 0;
  std::vector<std::string> news_;
  std::vector<std::string> troubles_;
};

}  // namespace dunlin
