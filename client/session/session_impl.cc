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

// Of the session itself, besides those of its operations: a read of the region, one of the tick.
constexpr uint32_t kOwnChains = 4;

constexpr int64_t kFirstReconnectNanos = 10 * kMillisecond;
constexpr int64_t kLongestReconnectNanos = 2'000 * kMillisecond;
constexpr int kManyReconnects = 1 << 30;

}  // namespace

// 2^10 grace periods, with a margin of four: no generation of a block can have come round.
uint64_t MaxLocationAge(const Geometry& g) {
  return (uint64_t{g.grace} << SlotWord::kGenerationBits) / 4;
}

SessionImpl::SessionImpl(SessionOrigin origin, std::unique_ptr<SessionParts> parts,
                         const SessionOptions& options)
    : origin_(std::move(origin)),
      read_only_(parts->read_only),
      link_(std::move(parts)),
      guard_(link_->guard.get()),
      clock_(*origin_.clock),
      ticks_(&clock_),
      geometry_(Geometry::Of(link_->constants)),
      channel_(link_->channel.get()),
      mapping_(channel_->mapping()),
      cache_(mapping_ == nullptr ? options.location_cache_bytes : 0, MaxLocationAge(geometry_)),
      hints_(mapping_ != nullptr ? options.location_cache_bytes : 0),
      pool_(link_->lane.get(), geometry_.heap_bytes, &clock_),
      random_(geometry_.hash_seed ^ link_->session_id),
      options_(options),
      operations_(std::clamp<uint32_t>(options.max_in_flight, 1, channel_->depth() - kOwnChains) +
                  1),
      reconnect_backoff_({kFirstReconnectNanos, kLongestReconnectNanos, kManyReconnects},
                         geometry_.hash_seed ^ link_->token ^ link_->session_id) {
  env_.geometry = &geometry_;
  env_.can_write = !read_only_;
  env_.max_attempts = 100'000;
  tick_read_.cookie = kTickReadCookie;
  for (uint32_t i = static_cast<uint32_t>(operations_.size()); i-- > 0;) {
    operations_[i].number = i;
    operations_[i].chain.cookie = i;
    if (i != 0) free_slots_.push_back(i);
  }
  Adopt(std::move(link_));
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(SessionOrigin origin,
                                                     std::unique_ptr<SessionParts> parts,
                                                     const SessionOptions& options) {
  auto session = std::make_unique<SessionImpl>(std::move(origin), std::move(parts), options);
  DUNLIN_RETURN_IF_ERROR(session->FetchDirectory());
  return session;
}

SessionImpl::~SessionImpl() {
  if (guard_->InChild()) return;
  if (channel_->broken().ok()) Drain();
  SetMark(0);
  Deadline deadline = Deadline::After(options_.default_deadline, clock_);
  // What can't be given back in order, the server finds by itself when the connection ends.
  bool in_order = read_only_ || !channel_->broken().ok() || pool_.ReturnAll(deadline).ok();
  if (in_order) link_->lane->Goodbye(deadline).IgnoreError();
}

// The server's clock moved, so it lives, unless another one's death is yet to show.
void SessionImpl::OnNewTick() {
  last_tick_ = env_.now;
  same_tick_calls_ = 0;
  tick_seen_at_ = ticks_.NowNanos();
  if (tick_seen_at_ - hang_up_checked_at_ > kStalledTick) BreakIfHungUp();
  if (mapping_ == nullptr) ReadServerTick();
  pool_.GiveBackIdle(tick_seen_at_);
}

// On shared memory a write succeeds into the mapping of a server that has died; a tick that stands
// still is how it shows.
void SessionImpl::OnSameTick() {
  int64_t now = ticks_.NowNanos();
  if (now - tick_seen_at_ > kStalledTick && now - hang_up_checked_at_ > kStalledTick) {
    BreakIfHungUp();
  }
}

void SessionImpl::BreakIfHungUp() {
  hang_up_checked_at_ = ticks_.NowNanos();
  if (!channel_->broken().ok()) return;
  if (origin_.health->losses() != losses_seen_) {
    channel_->Break(absl::UnavailableError("the server does not answer"));
  } else if (link_->lane->HungUp()) {
    channel_->Break(absl::UnavailableError("the server has closed the session's connection"));
  }
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

absl::Status SessionImpl::connection() const {
  if (!channel_->broken().ok()) return connect_error_.ok() ? channel_->broken() : connect_error_;
  if (origin_.health->losses() != losses_seen_) {
    return absl::UnavailableError("the server does not answer");
  }
  return link_->lane->HungUp() ? link_->lane->broken() : absl::OkStatus();
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
