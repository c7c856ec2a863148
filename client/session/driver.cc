#include <algorithm>
#include <bit>
#include <type_traits>

#include "client/session/session_impl.h"

namespace dunlin {
namespace {

// The first waits are for a lock that is held for a microsecond.
constexpr uint32_t kSpinWaits = 32;
constexpr int64_t kFirstWaitNanos = 1'000;
constexpr int64_t kLongestWaitNanos = 1'000'000;
// A lock is held for a round trip. One that stays held for longer may be a dead client's, which the
// server is to find out.
constexpr int64_t kExamineAfter = 2'000'000;
constexpr int64_t kExamineEvery = 20'000'000;
constexpr int64_t kTimeToAsk = 50'000'000;

template <typename M>
constexpr bool kSearches = std::is_same_v<M, GetMachine> || std::is_same_v<M, ModifyMachine> ||
                           std::is_same_v<M, ResolveMachine>;
template <typename M>
constexpr bool kWrites = std::is_same_v<M, PutMachine> || std::is_same_v<M, ModifyMachine>;

}  // namespace

void SessionImpl::EnsureScratch(Operation& op, uint32_t bytes) {
  if (op.scratch_bytes >= bytes) return;
  op.scratch_bytes = std::max(1024u, RoundUp8(bytes));
  op.scratch = std::make_unique_for_overwrite<std::byte[]>(op.scratch_bytes);
  op.chain.scratch = op.scratch.get();
}

// Where records are copied, whole ones have room: a value then comes with its header.
uint32_t SessionImpl::ScratchFor(uint32_t key_bytes) const {
  if (mapping_ != nullptr) return ScratchNeeded(geometry_, key_bytes);
  const uint32_t record = std::max(kLargestSlabBlock, RoundUp8(kMaxRecordHead + key_bytes));
  return CandidateOffset(geometry_, key_bytes) + kCandidatesPerChain * record;
}

Outcome SessionImpl::Prepare(Operation& op, Bytes key, const CallOptions& options) {
  if (key.empty()) return Outcome::kInvalidArgument;
  if (key.size() > geometry_.max_key_bytes) return Outcome::kTooLarge;
  const Milliseconds patience = options.deadline.value_or(options_.default_deadline);
  const uint64_t reconnects = stats_.reconnects;
  if (Outcome admitted = Admit(patience); admitted != Outcome::kOk) return admitted;
  op.key = KeyOf(key);
  op.outcome = Outcome::kInternal;
  op.has_hint = false;
  op.holds_block = false;
  // Whoever sees a lock twice is to know whether it is still the same hold: the bits that the
  // numbers of the session's operations leave count turns.
  op.lock_number = ++turn_ << std::bit_width(operations_.size() - 1) | op.number;
  op.waits = 0;
  op.examine_at = 0;
  op.restarts = 0;
  op.overdue = false;
  op.incarnation = link_->constants.incarnation;
  op.deadline.reset();
  op.patience = patience;
  // A new connection took some of it.
  if (stats_.reconnects != reconnects) op.patience -= std::min(patience, reconnect_took_);
  op.began = env_.now;
  op.string = nullptr;
  op.get_result = nullptr;
  op.write_result = nullptr;
  EnsureScratch(op, ScratchFor(op.key.bytes));
  return Outcome::kOk;
}

Location SessionImpl::Hint(Operation& op) {
  Location hint = cache_.Find(op.key, env_.now, &op.hint_aging);
  op.has_hint = hint.known();
  op.hint_word = hint.word;
  ++(op.has_hint ? stats_.cache_hits : stats_.cache_misses);
  return hint;
}

GetMachine& SessionImpl::RestartGet(Operation& op) {
  GetMachine* get = std::get_if<GetMachine>(&op.machine);
  if (get == nullptr) get = &op.machine.emplace<GetMachine>();
  get->Restart(op.key, Hint(op));
  return *get;
}

void SessionImpl::Start(Operation& op) {
  if (mapping_ == nullptr) KeepFresh(op);
  Hold();
  Resume(op);
}

void SessionImpl::KeepFresh(Operation& op) {
  if (GetMachine* get = std::get_if<GetMachine>(&op.machine)) {
    op.fresh = *get;
  } else if (PutMachine* put = std::get_if<PutMachine>(&op.machine)) {
    op.fresh = *put;
  } else if (ModifyMachine* modify = std::get_if<ModifyMachine>(&op.machine)) {
    op.fresh = *modify;
  } else {
    op.fresh = std::monostate();
  }
}

void SessionImpl::Resume(Operation& op) {
  env_.posted = op.posted;
  env_.operation = op.lock_number;
  env_.scratch_bytes = op.scratch_bytes;
  switch (op.machine.index()) {
    case 1:
      return Advance(op, *std::get_if<GetMachine>(&op.machine));
    case 2:
      return Advance(op, *std::get_if<PutMachine>(&op.machine));
    case 3:
      return Advance(op, *std::get_if<ModifyMachine>(&op.machine));
    case 4:
      return Advance(op, *std::get_if<ScanBucket>(&op.machine));
    case 5:
      return Advance(op, *std::get_if<ResolveMachine>(&op.machine));
    default:
      return EndWith(op, Outcome::kInternal);
  }
}

template <typename M>
void SessionImpl::Advance(Operation& op, M& machine) {
  for (;;) {
    Action action = machine.Step(env_, op.chain);
    if constexpr (!std::is_same_v<M, ScanBucket>) {
      if (!machine.freed().word.empty()) pool_.Unlinked(machine.TakeFreed());
    }
    switch (action) {
      case Action::kPost:
        return Post(op);
      case Action::kVerify:
        env_.now = Tick();
        break;
      case Action::kDone:
        return Settle(op, machine);
      default:
        if (!Serve(op, machine, action)) return;
        env_.now = Tick();
        break;
    }
  }
}

// Carries out what is not on the way of every operation. False: not to be stepped again now.
template <typename M>
bool SessionImpl::Serve(Operation& op, M& machine, Action action) {
  switch (action) {
    case Action::kNeedSink:
      return ServeSink(op, machine);
    case Action::kNeedBlock:
      if constexpr (kWrites<M>) return ServeBlock(op, machine);
      return true;
    case Action::kRefresh:
      ++stats_.retries;
      if (!FetchDirectory().ok()) {
        // Nothing was changed; only a directory that could be read and makes no sense is damage.
        Abandon(op, channel_->broken().ok() ? Outcome::kDataLoss : Outcome::kUnavailable);
        return false;
      }
      // The new directory may be a moment away: look for it at a decent pace.
      return Wait(op);
    case Action::kWait:
      ++stats_.retries;
      if constexpr (std::is_same_v<M, PutMachine>) ExamineLock(op, machine);
      return Wait(op);
    case Action::kAskExpire:
      if constexpr (kSearches<M>) {
        Location expired = machine.expire_request();
        absl::Status asked =
            link_->lane->Expire(expired.slot_address, expired.word.raw(), DeadlineOf(op));
        if (asked.ok()) return true;
      }
      Abandon(op, Outcome::kUnavailable);
      return false;
    default:
      Abandon(op, Outcome::kInternal);
      return false;
  }
}

template <typename M>
bool SessionImpl::ServeSink(Operation& op, M& machine) {
  if constexpr (std::is_same_v<M, GetMachine>) {
    if (op.string != nullptr) {
      op.string->resize(machine.value_bytes());
      machine.SupplySink(reinterpret_cast<std::byte*>(op.string->data()), op.string->size());
      return true;
    }
    op.get_result->value_bytes = machine.value_bytes();
    EndWith(op, Outcome::kBufferTooSmall);
  } else if constexpr (std::is_same_v<M, ScanBucket>) {
    CopyEntries(op, machine);
    return true;
  } else if constexpr (std::is_same_v<M, ModifyMachine>) {
    op.value.resize(machine.value_bytes());
    machine.SupplySink(op.value.data(), op.value.size());
    return true;
  } else {
    Abandon(op, Outcome::kInternal);  // nothing else reads a value
  }
  return false;
}

template <typename M>
bool SessionImpl::ServeBlock(Operation& op, M& machine) {
  if (op.holds_block) {
    pool_.PutBack(machine.block(), op.batch);
    machine.SupplyBlock({});
    op.holds_block = false;
  }
  // The deadline costs a look at the clock, which most puts do without.
  SessionBlocks::Taken taken = pool_.TakeInHand(ClassFor(machine.block_bytes()));
  if (taken.result != Result::kOk) {
    taken = pool_.Take(machine.block_bytes(), DeadlineOf(op));
  }
  // Near its deadline there is no time for another answer, and what comes late breaks the lane.
  const bool soon = taken.room_soon && DeadlineOf(op).NanosLeft() > kTimeToAsk;
  if (soon) return WaitForRoom(op);
  if (taken.result != Result::kOk) {
    machine.Fail(taken.result);
    return true;
  }
  machine.SupplyBlock(taken.block);
  op.batch = taken.batch;
  op.version = taken.block.version;
  op.holds_block = true;
  return true;
}

// What the server makes room from must not be held back by who waits for it: an operation that
// lacks a block believes nothing that it saw before without a look at its age.
bool SessionImpl::WaitForRoom(Operation& op) {
  const bool again = Wait(op);
  if (op.stage == Operation::Stage::kWaiting) {
    env_.now = Tick();
    op.began = env_.now;
    RenewMark();
  }
  return again;
}

void SessionImpl::Post(Operation& op) {
  op.stage = Operation::Stage::kPosted;
  op.posted = Tick();
  ++stats_.chains;
  stats_.verbs += op.chain.count;
  stats_.writes += op.chain.writes;
  stats_.atomics += op.chain.atomics;
  stats_.reads += op.chain.count - op.chain.writes - op.chain.atomics;
  new_chains_ = true;
  ++posted_;
  channel_->Post(&op.chain);
}

// The clock is first looked at when an operation has to wait for anything: those that don't are
// done long before.
Deadline SessionImpl::DeadlineOf(Operation& op) {
  if (!op.deadline.has_value()) op.deadline = Deadline::After(op.patience, clock_);
  return *op.deadline;
}

// True: step again at once. At a wait no lock is held and nothing of the operation is linked, so it
// may also end here.
bool SessionImpl::Wait(Operation& op) {
  if (DeadlineOf(op).NanosLeft() == 0) {
    Abandon(op, Outcome::kDeadlineExceeded);
    return false;
  }
  ++op.waits;
  int64_t delay = 0;
  if (op.waits > kSpinWaits) {
    int64_t ceiling =
        std::min(kLongestWaitNanos, kFirstWaitNanos << std::min(op.waits - kSpinWaits, 20u));
    delay = static_cast<int64_t>(random_() % static_cast<uint64_t>(ceiling));
  }
  op.not_before = clock_.NowNanos() + delay;
  op.stage = Operation::Stage::kWaiting;
  waiting_.push_back(&op);
  return false;
}

void SessionImpl::ExamineLock(Operation& op, const PutMachine& put) {
  const PutMachine::AwaitedLock lock = put.awaited();
  if (lock.address == 0) return;
  const int64_t now = clock_.NowNanos();
  if (op.examine_at == 0) op.examine_at = now + kExamineAfter;
  if (now < op.examine_at) return;
  op.examine_at = now + kExamineEvery;
  // Without an answer the wait goes on to its deadline; a lost connection is noticed by the next
  // chain.
  (void)link_->lane->ExamineLock(lock.address, lock.word.raw(), DeadlineOf(op));
}

// The index has no slot for the key: has the server split its subtable. True: the put goes on, or
// has ended at its deadline.
bool SessionImpl::WaitForGrowth(Operation& op, PutMachine& put) {
  const DirectoryView& directory = env_.directory;
  const DirectoryEntry entry(directory.entries[PrefixOf(op.key.hash, directory.depth)]);
  const absl::StatusOr<GrowOutcome> asked =
      link_->lane->Grow(PrefixOf(op.key.hash, kMaxDirectoryDepth), entry.depth(), DeadlineOf(op));
  if (!asked.ok() || *asked != GrowOutcome::kGrows || !FetchDirectory().ok()) return false;
  put.TryAgain();
  ++stats_.retries;
  (void)Wait(op);
  return true;
}

template <typename M>
void SessionImpl::Settle(Operation& op, M& machine) {
  if constexpr (std::is_same_v<M, ResolveMachine>) {
    return SettleResolve(op, machine);
  } else {
    SettleCall(op, machine);
  }
}

template <typename M>
void SessionImpl::SettleCall(Operation& op, M& machine) {
  // Should it turn out to be done, this is what it did.
  if constexpr (std::is_same_v<M, ModifyMachine>) op.write_result->sum = machine.sum();
  if constexpr (kWrites<M>) {
    if (machine.result() == Result::kUnknown && IsLost(op, LostOf(op, machine))) return;
  }
  if constexpr (std::is_same_v<M, PutMachine>) {
    if (machine.result() == Result::kIndexFull && WaitForGrowth(op, machine)) return;
  }
  op.outcome = OutcomeOf(machine.result());
  if (op.overdue && op.outcome == Outcome::kUnavailable) op.outcome = Outcome::kDeadlineExceeded;
  if constexpr (kWrites<M>) {
    if (op.holds_block) {
      if (machine.block().word.empty()) {
        pool_.Spent(op.batch);
      } else {
        pool_.PutBack(machine.block(), op.batch);
      }
      op.holds_block = false;
    }
  }
  if constexpr (std::is_same_v<M, ScanBucket>) DropOtherPasses(op, machine);
  if constexpr (std::is_same_v<M, GetMachine>) SettleGet(op, machine);
  if constexpr (std::is_same_v<M, PutMachine>) SettlePut(op, machine);
  if constexpr (std::is_same_v<M, ModifyMachine>) SettleModify(op, machine);
  EndWith(op, op.outcome);
}

// What the resolution of a lost write has to know.
ResolveMachine::Lost SessionImpl::LostOf(const Operation& op, const PutMachine& put) {
  const bool absorbs = put.mode() == PutMachine::Mode::kAlways && put.expected_seen();
  return {op.key, op.version, put.expected().version, absorbs};
}

ResolveMachine::Lost SessionImpl::LostOf(const Operation& op, const ModifyMachine& modify) {
  const bool removes = modify.kind() == ModifyKind::kRemove;
  return {op.key, removes ? 0 : op.version, modify.expected().version, false};
}

void SessionImpl::SettleGet(Operation& op, GetMachine& get) {
  GetResult& r = *op.get_result;
  if (op.outcome != Outcome::kOk) {
    ++stats_.misses;
    if (op.has_hint) cache_.Forget(op.key);
    return;
  }
  ++stats_.hits;
  NoteUse(get.found().word);
  r.value_bytes = get.value_bytes();
  r.version = get.version();
  if (get.expiry() != 0) {
    r.ttl_left = Milliseconds(get.expiry() > env_.now ? get.expiry() - env_.now : 0);
  }
  if (op.string != nullptr) op.string->resize(get.value_bytes());
  bool same = op.has_hint && op.hint_word.SameRecord(get.found().word);
  if (!same || op.hint_aging) cache_.Remember(op.key, get.found(), get.stamp());
}

void SessionImpl::SettlePut(Operation& op, PutMachine& put) {
  WriteResult& r = *op.write_result;
  r.version = op.outcome == Outcome::kOk ? put.version() : 0;
  if (put.absorbed()) ++stats_.absorbed;
  // A new key is not in use yet.
  if (put.found().known() && put.expected().known()) NoteUse(put.found().word);
  if (op.outcome == Outcome::kOk || op.outcome == Outcome::kExists) {
    cache_.Remember(op.key, put.found(), put.stamp());
  } else if (op.has_hint) {
    cache_.Forget(op.key);
  }
}

void SessionImpl::SettleModify(Operation& op, ModifyMachine& modify) {
  WriteResult& r = *op.write_result;
  bool told = op.outcome == Outcome::kOk || op.outcome == Outcome::kVersionMismatch;
  r.version = told ? modify.version() : 0;
  r.sum = modify.sum();
  if (op.outcome == Outcome::kOk && modify.found().known()) {
    NoteUse(modify.found().word);
    cache_.Remember(op.key, modify.found(), modify.stamp());
  } else {
    cache_.Forget(op.key);
  }
}

// Ends an operation that is not under way in the channel and has linked nothing, unless its fate
// was being looked for.
void SessionImpl::Abandon(Operation& op, Outcome outcome) {
  if (std::holds_alternative<ResolveMachine>(op.machine)) outcome = Outcome::kUnknown;
  if (op.holds_block) {
    const Block* block = nullptr;
    if (PutMachine* put = std::get_if<PutMachine>(&op.machine)) block = &put->block();
    if (ModifyMachine* modify = std::get_if<ModifyMachine>(&op.machine)) block = &modify->block();
    pool_.PutBack(*block, op.batch);
    op.holds_block = false;
  }
  EndWith(op, outcome);
}

void SessionImpl::EndWith(Operation& op, Outcome outcome) {
  op.outcome = outcome;
  op.stage = Operation::Stage::kDone;
  bool answer = outcome == Outcome::kOk || outcome == Outcome::kNotFound ||
                outcome == Outcome::kExists || outcome == Outcome::kVersionMismatch;
  if (!answer) ++stats_.failures;
  if (op.get_result != nullptr) op.get_result->outcome = outcome;
  if (op.write_result != nullptr) op.write_result->outcome = outcome;
  Unhold();
  if (op.number != 0) Finished(op);
}

void SessionImpl::Finish(Chain& chain) {
  if (chain.cookie == kTickReadCookie) return OnServerTick();
  if (chain.cookie == kAccessCookie) {
    access_.under_way = false;
    return;
  }
  --posted_;
  env_.now = Tick();
  stats_.verbs += chain.followed + chain.swung;
  stats_.reads += chain.followed;
  stats_.atomics += chain.swung;
  Resume(operations_[chain.cookie]);
}

void SessionImpl::Pump(bool wait) {
  Chain* done[16];
  if (new_chains_) {
    new_chains_ = false;
    ++stats_.round_trips;
  }
  uint32_t n = channel_->Poll(done, 16);
  for (uint32_t i = 0; i < n; ++i) Finish(*done[i]);
  if (!returned_.empty()) {
    std::vector<Chain*> returned;
    returned.swap(returned_);
    n += static_cast<uint32_t>(returned.size());
    for (Chain* chain : returned) Finish(*chain);
  }
  if (n != 0) {
    idle_waits_ = 0;
  } else if (wait && posted_ != 0 && waiting_.empty()) {
    WaitForChains();
  }
  if (!waiting_.empty()) PumpWaiting();
}

void SessionImpl::PumpWaiting() {
  int64_t now = clock_.NowNanos();
  int64_t next = INT64_MAX;
  std::vector<Operation*> waiting;
  waiting.swap(waiting_);
  for (Operation* op : waiting) {
    if (op->not_before > now) {
      next = std::min(next, op->not_before);
      waiting_.push_back(op);
      continue;
    }
    env_.now = Tick();
    Resume(*op);
  }
  if (posted_ != 0 || waiting_.empty() || next == INT64_MAX) return;
  // Nothing but waits: leave the core to whoever is waited for.
  clock_.Pause(next - now);
}

void SessionImpl::RunBlocking(Operation& op) {
  Start(op);
  AwaitBlocking(op);
}

void SessionImpl::AwaitBlocking(Operation& op) {
  for (;;) {
    while (op.stage != Operation::Stage::kDone) {
      Pump(true);
      if (!lost_.empty()) ResolveLost();
    }
    // Nothing was changed, so over another connection the call may begin again.
    const bool lost = op.outcome == Outcome::kUnavailable && !channel_->broken().ok();
    if (!lost || mapping_ != nullptr) return;
    const Milliseconds left(DeadlineOf(op).NanosLeft() / 1'000'000);
    if (Admit(left) != Outcome::kOk || !BeginAgain(op)) return;
    Hold();
    Resume(op);
  }
}

}  // namespace dunlin
