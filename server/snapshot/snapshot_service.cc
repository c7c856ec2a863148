#include "server/snapshot/snapshot_service.h"

#include <algorithm>
#include <utility>

#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin {
namespace {

constexpr uint64_t kFirstRetry = 1'000;  // ticks
constexpr uint64_t kLastRetry = 60'000;
constexpr uint32_t kMostDoublings = 6;

// Outcomes are fetched or forgotten; there are never more of them than connections.
constexpr size_t kMostOutcomes = 65'536;

std::string Millis(uint64_t ticks) { return std::to_string(ticks) + " ms"; }

template <typename Map>
void Bound(Map& map) {
  while (map.size() > kMostOutcomes) map.erase(map.begin());
}

}  // namespace

SnapshotService::SnapshotService(const RegionView& region, const IndexSpace* index,
                                 const BlockPool* pool, std::unique_ptr<SnapshotWriter> writer,
                                 const Options& options)
    : options_(options),
      // Words recur after 2^10 grace periods: half of the quarter that the pass allows.
      mark_period_((uint64_t{SlotWord::kGenerationMask} + 1) / 8 * region.geometry().grace),
      shadow_(region.geometry().bucket_mask + 1),
      pass_(region, {index, pool, &shadow_}),
      writer_(std::move(writer)) {}

void SnapshotService::SetBase(Base base) {
  base_ = std::move(base);
  full_next_ = !base_.loaded || base_.cut;
  publish_next_ = base_.older;
  last_ = base_.loaded;
  if (base_.loaded) highest_version_ = base_.loaded->counts.highest_version;
}

// When.

bool SnapshotService::WriteDue(uint64_t tick) const {
  if (writing_ || tick < retry_tick_) return false;
  if (!waiting_.empty()) return true;
  return options_.interval != 0 && (!begun_ || tick >= began_tick_ + options_.interval);
}

bool SnapshotService::MarkDue(uint64_t tick) const {
  return !writing_ && shadow_.tables() != 0 && tick >= marked_tick_ + mark_period_;
}

bool SnapshotService::Due(uint64_t tick) const {
  return pass_.active() || WriteDue(tick) || MarkDue(tick);
}

bool SnapshotService::Step(uint64_t tick, int64_t unix_ms, const IndexSpace::Subtable* closed) {
  tick_ = tick;
  // A note of what changed is not worth waiting for.
  if (pass_.active() && pass_.kind() == SnapshotPass::Kind::kMark && WriteDue(tick)) pass_.Drop();
  if (!pass_.active()) {
    if (WriteDue(tick)) {
      Begin(tick, unix_ms);
    } else if (MarkDue(tick)) {
      marked_tick_ = tick;
      pass_.Begin(SnapshotPass::Kind::kMark, 0, committed_pass_, nullptr);
    } else {
      return false;
    }
  }
  const bool more = pass_.Step(tick, closed);
  if (writing_ && !walked_ && !pass_.active()) EndWalk(tick);
  return more;
}

void SnapshotService::Begin(uint64_t tick, int64_t unix_ms) {
  writing_ = begun_ = true;
  walked_ = false;
  began_tick_ = marked_tick_ = tick;
  began_unix_ms_ = unix_ms;
  ++pass_number_;
  for (Waiting& waiting : waiting_) {
    if (waiting.pass == 0) waiting.pass = pass_number_;
  }
  writer_->BeginPass(pass_number_, full_next_, unix_ms - static_cast<int64_t>(tick));
  pass_.Begin(full_next_ ? SnapshotPass::Kind::kFull : SnapshotPass::Kind::kWrite, pass_number_,
              committed_pass_, writer_.get());
}

void SnapshotService::EndWalk(uint64_t tick) {
  walked_ = true;
  const SnapshotPass::Figures& figures = pass_.figures();
  damaged_ = figures.damaged;
  const bool asked = std::any_of(waiting_.begin(), waiting_.end(), [this](const Waiting& w) {
    return w.pass == pass_number_ && w.even_unchanged;
  });
  if (!full_next_ && !publish_next_ && !asked && figures.puts + figures.deletes == 0) {
    writer_->Abort();
    writing_ = false;
    committed_pass_ = pass_number_;
    ++unchanged_;
    covered_tick_ = began_tick_;
    pass_ticks_ = tick - began_tick_;
    Answer(pass_number_, *last_);
    return;
  }
  highest_version_ = std::max(highest_version_, figures.highest_version);
  SnapshotCounts counts;
  counts.records = shadow_.records();
  counts.highest_version = highest_version_;
  counts.started_unix_ms = began_unix_ms_;
  writer_->Commit(counts);
}

// What came of it.

void SnapshotService::Attend(uint64_t tick) {
  for (SnapshotWriter::Result& result : writer_->TakeResults()) {
    switch (result.kind) {
      case SnapshotWriter::Result::Kind::kCommitted:
        Committed(result, tick);
        break;
      case SnapshotWriter::Result::Kind::kFailed:
        // Of a pass that was given up already.
        if (writing_ && result.number == pass_number_) Failed(result.status, tick);
        break;
      case SnapshotWriter::Result::Kind::kListed:
      case SnapshotWriter::Result::Kind::kDeleted:
        administered_[result.number] = {std::move(result.status), std::move(result.listing)};
        Bound(administered_);
        break;
    }
  }
}

void SnapshotService::Committed(const SnapshotWriter::Result& result, uint64_t tick) {
  writing_ = false;
  full_next_ = publish_next_ = false;
  committed_pass_ = result.number;
  retry_tick_ = 0;
  ++made_;
  covered_tick_ = began_tick_;
  pass_ticks_ = tick - began_tick_;
  last_ = result.info;
  if (failures_in_row_ != 0) news_.push_back("snapshots succeed again");
  failures_in_row_ = 0;
  trouble_.clear();
  if (!result.status.ok()) {
    troubles_.push_back("old snapshots could not be deleted: " +
                        std::string(FromAbsl(result.status.message())));
  }
  if (made_ == 1 || result.info.full) {
    news_.push_back("snapshot " + std::to_string(result.info.id) + ": " +
                    FormatCount(result.info.counts.records) + " records in " + Millis(pass_ticks_));
  }
  if (damaged_ != 0) {
    troubles_.push_back("snapshot " + std::to_string(result.info.id) + " leaves out " +
                        std::to_string(damaged_) +
                        " damaged records: some client wrote what breaks the layout");
  }
  Answer(result.number, result.info);
}

void SnapshotService::Failed(const absl::Status& status, uint64_t tick) {
  pass_.Drop();
  writing_ = false;
  // What the pass was based on can't be trusted any more, or is gone.
  if (absl::IsDataLoss(status) || absl::IsNotFound(status)) full_next_ = true;
  ++failed_;
  const uint64_t doublings = std::min(failures_in_row_, kMostDoublings);
  retry_tick_ = tick + std::min(kLastRetry, kFirstRetry << doublings);
  trouble_ = std::string(FromAbsl(status.message()));
  // Once, not with each attempt: the status goes on saying it.
  if (failures_in_row_++ == 0) {
    troubles_.push_back(
        "a snapshot failed (" + trouble_ +
        "); the one before counts, and it is tried again after a second, then after ever "
        "more, at last once a minute");
  }
  Answer(pass_number_, status);
}

void SnapshotService::Answer(uint64_t pass, const absl::StatusOr<SnapshotInfo>& outcome) {
  for (const Waiting& waiting : waiting_) {
    if (waiting.pass == pass) outcomes_.emplace(waiting.request, outcome);
  }
  std::erase_if(waiting_, [pass](const Waiting& waiting) { return waiting.pass == pass; });
  Bound(outcomes_);
}

// Requests.

uint64_t SnapshotService::Request(bool even_unchanged) {
  waiting_.push_back({++requests_, 0, even_unchanged});
  // Somebody has reason to think that it works now.
  retry_tick_ = 0;
  return requests_;
}

std::optional<absl::StatusOr<SnapshotInfo>> SnapshotService::TakeOutcome(uint64_t request) {
  const auto found = outcomes_.find(request);
  if (found == outcomes_.end()) return std::nullopt;
  absl::StatusOr<SnapshotInfo> outcome = std::move(found->second);
  outcomes_.erase(found);
  return outcome;
}

uint64_t SnapshotService::RequestList() {
  writer_->List(++requests_);
  return requests_;
}

uint64_t SnapshotService::RequestDelete(uint64_t id) {
  writer_->Delete(++requests_, id);
  return requests_;
}

std::optional<SnapshotService::Administered> SnapshotService::TakeAdministered(uint64_t request) {
  const auto found = administered_.find(request);
  if (found == administered_.end()) return std::nullopt;
  Administered answer = std::move(found->second);
  administered_.erase(found);
  return answer;
}

void SnapshotService::Forget(uint64_t request) {
  std::erase_if(waiting_, [request](const Waiting& w) { return w.request == request; });
  outcomes_.erase(request);
  administered_.erase(request);
}

void SnapshotService::FillStatus(control::StatusReply& status) const {
  control::SnapshotStatus& out = *status.mutable_snapshots();
  out.set_interval_ms(options_.interval);
  out.set_share_permille(options_.share_permille);
  if (last_) {
    out.set_last_id(last_->id);
    out.set_last_records(last_->counts.records);
    out.set_last_finished_unix_ms(last_->counts.finished_unix_ms);
  }
  if (covered_tick_ != 0) out.set_covered_ms_ago(tick_ - std::min(tick_, covered_tick_));
  out.set_covered(covered_tick_ != 0);
  out.set_last_pass_ms(pass_ticks_);
  out.set_made(made_);
  out.set_unchanged(unchanged_);
  out.set_failed(failed_);
  out.set_trouble(trouble_);
  out.set_under_way(writing_);
  out.set_permille(writing_ ? (walked_ ? 1000 : pass_.permille()) : 0);
  out.set_damaged_records(damaged_);
  out.set_shadow_bytes(shadow_.bytes() + pass_.scratch_bytes());
  out.set_nanos(nanos_);
  if (base_.loaded) out.set_loaded_id(base_.loaded->id);
  out.set_loaded_records(base_.loaded_records);
  out.set_expired_records(base_.expired_records);
  for (const std::string& skipped : base_.skipped) out.add_skipped(skipped);
}

}  // namespace dunlin
