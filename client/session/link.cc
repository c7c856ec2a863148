#include <algorithm>
#include <utility>

#include "client/session/session_impl.h"
#include "common/base/status.h"

namespace dunlin {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
// How long one wait for a chain lasts before it is asked whether it still makes sense. A wait that
// ends before the kernel's next tick costs a virtual machine more than an answer takes.
constexpr int64_t kFirstWait = 10 * kMillisecond;
constexpr int64_t kLongestWait = 50 * kMillisecond;
// This machine's clock and the server's drift apart by some 50 us a second.
constexpr int64_t kTickReadPeriod = 10'000 * kMillisecond;
constexpr int64_t kTickRetryPeriod = 20 * kMillisecond;  // where the last one taught little
// How long a write of unknown fate waits for another try to connect.
constexpr int64_t kReconnectPause = 5 * kMillisecond;
// A chain that is younger is not what is slow.
constexpr uint64_t kOverdueTicks = 100;
constexpr size_t kReadPiece = size_t{1} << 20;
// Each took the loss of a connection.
constexpr uint32_t kMostRestarts = 3;
// Odd: sessions of one server, whose numbers it never gives twice, don't meet.
constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;

}  // namespace

// Makes `parts` the session's connection. REQUIRES: no chain is with the old one.
void SessionImpl::Adopt(std::unique_ptr<SessionParts> parts) {
  const bool first = link_ == nullptr;
  const bool same_server = !first && link_->constants.incarnation == parts->constants.incarnation;
  link_ = std::move(parts);
  channel_ = link_->channel.get();
  mapping_ = channel_->mapping();
  geometry_ = Geometry::Of(link_->constants);
  if (!first) {
    cache_.SetMaxAge(MaxLocationAge(geometry_));
    hints_.Clear();
    pool_.Reset(link_->lane.get(), geometry_.heap_bytes, same_server);
  }
  env_.session = link_->session_id;
  owner_ = (link_->constants.incarnation ^ link_->session_id * kSpread) | 1;
  env_.references = mapping_ != nullptr;
  mark_ = nullptr;
  if (link_->region != nullptr) {
    ticks_.Follow(&link_->region->superblock()->tick);
    if (!read_only_) {
      mark_ = reinterpret_cast<uint64_t*>(link_->region->SessionWord(link_->session_word));
    }
  } else {
    ticks_.Set(link_->tick, link_->tick_asked, link_->tick_answered, !same_server);
    tick_read_at_ = link_->tick_answered;
  }
  stats_.clock_error = std::chrono::nanoseconds(ticks_.error());
  access_.Begin(read_only_ ? AccessArea{} : AccessArea::Of(link_->constants), link_->session_word);
  access_.under_way = false;
  losses_seen_ = origin_.health->losses();
  env_.now = last_tick_ = Tick();
  if (holds_ != 0) SetMark(env_.now);
}

bool SessionImpl::Reconnect(Milliseconds patience) {
  // What is pinned lies in the old connection's mapping.
  const int64_t began = clock_.NowNanos();
  if (pins_ != 0 || began < reconnect_at_ || patience.count() <= 0) return false;
  EndBroken();
  Opener::Request request = origin_.request;
  request.replaces = link_->session_id;
  request.replaces_token = link_->token;
  request.replaces_incarnation = link_->constants.incarnation;
  const uint64_t losses = origin_.health->losses();
  auto opened = origin_.opener->OpenSession(
      request, Deadline::After(std::min(patience, origin_.connect_deadline), clock_));
  if (opened.ok()) {
    Adopt(*std::move(opened));
    losses_seen_ = losses;
    absl::Status fetched = FetchDirectory();
    if (fetched.ok()) {
      ++stats_.reconnects;
      reconnect_took_ = Milliseconds((clock_.NowNanos() - began) / kMillisecond);
      reconnect_backoff_.Reset();
      connect_error_ = absl::OkStatus();
      return true;
    }
    channel_->Break(fetched);
  }
  connect_error_ = opened.ok() ? channel_->broken() : opened.status();
  reconnect_at_ = clock_.NowNanos() + reconnect_backoff_.NextNanos().value_or(kReconnectPause);
  return false;
}

// All that was under way on the broken connection ends. What waits for a lock holds a block of the
// old session, whose number is in its lock words: it can't go on either.
void SessionImpl::EndBroken() {
  while (posted_ != 0 || tick_read_posted_) Pump(false);
  std::vector<Operation*> waiting;
  waiting.swap(waiting_);
  for (Operation* op : waiting) Abandon(*op, Outcome::kUnavailable);
}

// Reads words of the region; 1 RTT a MiB where it is not mapped. Chains of operations that come
// back meanwhile are kept for the next round.
absl::Status SessionImpl::ReadRegion(uint64_t offset, std::span<std::byte> to) {
  if (link_->region != nullptr) {
    link_->region->ReadWords(offset, to);
    return absl::OkStatus();
  }
  const Deadline deadline = Deadline::After(options_.default_deadline, clock_);
  while (!to.empty()) {
    const size_t piece = std::min(to.size(), kReadPiece);
    Chain chain;
    chain.cookie = kRegionReadCookie;
    chain.Read(offset, static_cast<uint32_t>(piece), 0).sink = to.data();
    channel_->Post(&chain);
    for (bool back = false; !back;) {
      Chain* done[16];
      const uint32_t n = channel_->Poll(done, 16);
      for (uint32_t i = 0; i < n; ++i) {
        back |= done[i] == &chain;
        if (done[i] != &chain) returned_.push_back(done[i]);
      }
      if (n != 0) continue;
      if (deadline.NanosLeft() == 0) channel_->Break(absl::DeadlineExceededError("region read"));
      channel_->WaitFor(kFirstWait);
    }
    if (chain.outcome != ChainOutcome::kDone) {
      return channel_->broken().ok() ? absl::InternalError("region read refused")
                                     : channel_->broken();
    }
    offset += piece;
    to = to.subspan(piece);
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::FetchDirectory() {
  DUNLIN_RETURN_IF_ERROR(directory_.Refresh(
      [this](uint64_t offset, std::span<std::byte> to) { return ReadRegion(offset, to); },
      link_->constants));
  env_.directory = directory_.view();
  return absl::OkStatus();
}

// Now and then, so that times to live don't drift.
void SessionImpl::ReadServerTick() {
  const int64_t period =
      ticks_.error() > TickSource::kGoodError ? kTickRetryPeriod : kTickReadPeriod;
  if (tick_read_posted_ || ticks_.NowNanos() - tick_read_at_ < period) return;
  tick_read_at_ = ticks_.NowNanos();
  tick_read_.Clear();
  tick_read_.ReadWord(offsetof(Superblock, tick));
  tick_read_posted_ = true;
  channel_->Post(&tick_read_);
}

void SessionImpl::OnServerTick() {
  tick_read_posted_ = false;
  if (tick_read_.outcome != ChainOutcome::kDone) return;
  ticks_.Set(tick_read_.work[0].result, tick_read_at_, ticks_.NowNanos(), false);
  stats_.clock_error = std::chrono::nanoseconds(ticks_.error());
}

void SessionImpl::WaitForChains() {
  channel_->WaitFor(idle_waits_ == 0 ? kFirstWait : kLongestWait);
  if (idle_waits_++ == 0) return;
  env_.now = Tick();
  BreakIfHungUp();
  BreakIfOverdue();
}

// A chain can't be called back: its buffers are the fabric's, and it may be executed at any time,
// until the connection is gone.
void SessionImpl::BreakIfOverdue() {
  for (Operation& op : operations_) {
    if (op.stage != Operation::Stage::kPosted || DeadlineOf(op).NanosLeft() != 0) continue;
    // Under contention a deadline may pass in the middle of chains that are answered at once.
    if (env_.now - op.posted < kOverdueTicks) continue;
    op.overdue = true;
    channel_->Break(absl::DeadlineExceededError("an operation got no answer before its deadline"));
  }
}

// Whether the operation is to be resolved; it is then at stage kLost. Only a write whose deadline
// leaves time for that is.
bool SessionImpl::IsLost(Operation& op, const ResolveMachine::Lost& lost) {
  if (op.overdue || pins_ != 0) return false;
  op.lost = lost;
  op.stage = Operation::Stage::kLost;
  op.holds_block = false;
  lost_.push_back(&op);
  return true;
}

void SessionImpl::ResolveLost() {
  if (!channel_->broken().ok()) {
    // One connection for all: the most patient decides.
    int64_t left = 0;
    for (Operation* op : lost_) left = std::max(left, DeadlineOf(*op).NanosLeft());
    if (!Reconnect(Milliseconds(left / kMillisecond))) clock_.Pause(kReconnectPause);
  }
  std::vector<Operation*> lost;
  lost.swap(lost_);
  for (Operation* op : lost) {
    // The versions of another incarnation say nothing about this one's writes.
    const bool gone = op->incarnation != link_->constants.incarnation;
    if (gone || DeadlineOf(*op).NanosLeft() == 0) {
      EndWith(*op, Outcome::kUnknown);
    } else if (channel_->broken().ok()) {
      StartResolve(*op);
    } else {
      lost_.push_back(op);
    }
  }
}

void SessionImpl::StartResolve(Operation& op) {
  ++stats_.resolved;
  EnsureScratch(op, ScratchFor(op.key.bytes));
  op.machine.emplace<ResolveMachine>(op.lost);
  Resume(op);
}

void SessionImpl::SettleResolve(Operation& op, ResolveMachine& resolve) {
  if (resolve.result() != Result::kOk) {
    // The new connection was lost as well, or the record can't be read.
    const bool again = !channel_->broken().ok() && IsLost(op, op.lost);
    if (!again) EndWith(op, Outcome::kUnknown);
    return;
  }
  switch (resolve.fate()) {
    case ResolveMachine::Fate::kDone:
      op.write_result->version = op.lost.my_version;
      return EndWith(op, Outcome::kOk);
    case ResolveMachine::Fate::kNotDone:
      if (BeginAgain(op)) return Resume(op);
      return EndWith(op, Outcome::kUnavailable);
    case ResolveMachine::Fate::kUnknown:
      return EndWith(op, Outcome::kUnknown);
  }
}

// From the start of the call, when it is certain that it has changed nothing.
bool SessionImpl::BeginAgain(Operation& op) {
  if (op.incarnation != link_->constants.incarnation || op.restarts++ >= kMostRestarts)
    return false;
  if (GetMachine* get = std::get_if<GetMachine>(&op.fresh)) {
    op.machine = *get;
  } else if (PutMachine* put = std::get_if<PutMachine>(&op.fresh)) {
    op.machine = *put;
  } else if (ModifyMachine* modify = std::get_if<ModifyMachine>(&op.fresh)) {
    op.machine = *modify;
  } else {
    return false;
  }
  op.holds_block = false;
  return true;
}

}  // namespace dunlin
