#include "client/session/session_impl.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
// A tick that stands still this long is looked into; a server that hangs up is noticed then, and at
// the latest after this long of use while the tick moves.
constexpr int64_t kStalledTick = 100 * kMillisecond;

// A location not seen to be current for this long is dropped (2^10 grace periods, with a margin of
// four): no generation of its block can have come round.
uint64_t MaxLocationAge(const Geometry& g) {
  return (uint64_t{g.grace} << SlotWord::kGenerationBits) / 4;
}

}  // namespace

SessionImpl::SessionImpl(ShmSessionParts parts, std::unique_ptr<Channel> channel,
                         const SessionOptions& options)
    : parts_(std::move(parts)),
      guard_(parts_.guard.get()),
      tick_(&parts_.region->superblock()->tick),
      geometry_(parts_.region->geometry()),
      channel_(std::move(channel)),
      mapping_(channel_->mapping()),
      cache_(options.location_cache_bytes, MaxLocationAge(geometry_)),
      pool_(parts_.lane.get()),
      random_(geometry_.hash_seed ^ parts_.session_id),
      options_(options),
      operations_(std::clamp<uint32_t>(options.max_in_flight, 1, channel_->depth() - 1) + 1) {
  if (!parts_.read_only) {
    mark_ = reinterpret_cast<uint64_t*>(parts_.region->SessionWord(parts_.session_word));
  }
  env_.geometry = &geometry_;
  env_.session = parts_.session_id;
  env_.references = true;
  env_.can_write = !parts_.read_only;
  env_.max_attempts = 100'000;
  for (uint32_t i = static_cast<uint32_t>(operations_.size()); i-- > 0;) {
    operations_[i].number = i;
    operations_[i].chain.cookie = i;
    if (i != 0) free_slots_.push_back(i);
  }
}

absl::Status SessionImpl::FetchDirectory() {
  DUNLIN_RETURN_IF_ERROR(directory_.Refresh(parts_.region->base(), parts_.region->constants()));
  env_.directory = directory_.view();
  return absl::OkStatus();
}

SessionImpl::~SessionImpl() {
  if (guard_->InChild()) return;
  if (channel_->broken().ok()) Drain();
  SetMark(0);
  Deadline deadline = Deadline::After(options_.default_deadline);
  // What can't be given back in order, the server finds by itself when the connection ends.
  bool in_order = parts_.read_only || !channel_->broken().ok() || pool_.ReturnAll(deadline).ok();
  if (in_order) parts_.lane->Goodbye(deadline).IgnoreError();
}

// The server's clock moved, so it lives, unless another one's death is yet to show.
void SessionImpl::OnNewTick() {
  last_tick_ = env_.now;
  same_tick_calls_ = 0;
  tick_seen_at_ = clock_.NowNanos();
  if (tick_seen_at_ - hang_up_checked_at_ > kStalledTick) BreakIfHungUp();
}

// On shared memory a write succeeds into the mapping of a server that has died; a tick that stands
// still is how it shows.
void SessionImpl::OnSameTick() {
  int64_t now = clock_.NowNanos();
  if (now - tick_seen_at_ > kStalledTick && now - hang_up_checked_at_ > kStalledTick) {
    BreakIfHungUp();
  }
}

void SessionImpl::BreakIfHungUp() {
  hang_up_checked_at_ = clock_.NowNanos();
  if (!channel_->broken().ok() || !parts_.lane->HungUp()) return;
  channel_->Break(absl::UnavailableError("the server has closed the session's connection"));
}

// With operations always in flight the word would stay at the first one's beginning and hold back
// all reuse; what counts is the oldest that still runs.
void SessionImpl::RenewMark() {
  if (pins_ != 0 || holds_ == 0 || mark_tick_ == env_.now) return;
  uint64_t oldest = env_.now;
  for (const Operation& op : operations_) {
    if (op.stage == Operation::Stage::kPosted || op.stage == Operation::Stage::kWaiting) {
      oldest = std::min(oldest, op.began);
    }
  }
  if (oldest > mark_tick_) SetMark(oldest);
}

void SessionImpl::Unpin() {
  --pins_;
  Unhold();
}

Stats SessionImpl::stats() const {
  Stats stats = stats_;
  stats.lane_messages = pool_.lane_messages();
  return stats;
}

Outcome OutcomeOf(Result result) {
  switch (result) {
    case Result::kOk:
      return Outcome::kOk;
    case Result::kNotFound:
      return Outcome::kNotFound;
    case Result::kExists:
      return Outcome::kExists;
    case Result::kVersionMismatch:
      return Outcome::kVersionMismatch;
    case Result::kNotInteger:
      return Outcome::kNotInteger;
    case Result::kOverflow:
      return Outcome::kOverflow;
    case Result::kIndexFull:
      return Outcome::kIndexFull;
    case Result::kMemoryFull:
      return Outcome::kMemoryFull;
    case Result::kContended:
      return Outcome::kContended;
    case Result::kUnknown:
      return Outcome::kUnknown;
    case Result::kUnavailable:
      return Outcome::kUnavailable;
    case Result::kDataLoss:
      return Outcome::kDataLoss;
    case Result::kTooLarge:
      return Outcome::kTooLarge;
    case Result::kInternal:
      return Outcome::kInternal;
  }
  return Outcome::kInternal;
}

}  // namespace dunlin
