#include "server/core.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/layout/record.h"

namespace dunlin {
namespace {

// Bounds of one turn of Background: well below a millisecond each.
constexpr uint32_t kGraceEndsPerTurn = 4096;
constexpr uint64_t kBucketsPerTurn = 4096;

// A look at thousands of sessions' words costs a cache miss each: not every tick then.
constexpr uint32_t kManySessions = 64;
constexpr uint64_t kLookPeriod = 8;

// A batch takes at most 1/256 of the heap and at most 1 MiB, but always one block: a few sessions
// with large records must not hold a small heap in their hands.
constexpr uint64_t kMostBatchBytes = uint64_t{1} << 20;
constexpr uint64_t kBatchesPerHeap = 256;

}  // namespace

ServerCore::ServerCore(std::byte* base, const Superblock& plan, Config config)
    : region_(base, plan),
      plan_(plan),
      config_(std::move(config)),
      cpu_atomics_(base),
      atomics_(config_.atomics != nullptr ? config_.atomics : &cpu_atomics_),
      tokens_(config_.token_seed),
      allocator_(plan.heap_bytes, plan.grace_ms),
      sessions_(plan.session_words),
      next_version_(config_.first_version) {
  StoreWord(&region_.superblock()->tick, tick_);
}

void ServerCore::SetTick(uint64_t tick) {
  if (tick <= tick_) return;
  // While nobody has a session, the tick may be slow.
  if (open_sessions_ > 0) tick_lag_max_ = std::max(tick_lag_max_, tick - tick_);
  tick_ = tick;
  StoreWord(&region_.superblock()->tick, tick);
}

void ServerCore::SetState(ServerState state) {
  state_ = state;
  StoreWord(&region_.superblock()->state, static_cast<uint64_t>(state));
}

absl::StatusOr<const ServerSession*> ServerCore::OpenSession(const NewSession& request) {
  if (draining()) return absl::UnavailableError("the server is shutting down");
  absl::StatusOr<ServerSession*> added = sessions_.Add();
  if (!added.ok()) return added.status();
  ServerSession& session = **added;
  session.client_name = request.client_name;
  session.pid = request.pid;
  session.read_only = request.read_only;
  session.peer = request.peer;
  session.token = tokens_();
  session.opened_tick = tick_;
  StoreWord(region_.SessionWord(session.word), 0);
  ++open_sessions_;
  ++sessions_opened_;
  return &session;
}

absl::Status ServerCore::ReplaceSession(uint32_t id, uint64_t token) {
  const ServerSession* session = sessions_.Find(id);
  if (session == nullptr) return absl::OkStatus();
  if (session->token != token) {
    return absl::UnauthenticatedError("session " + std::to_string(id) +
                                      " is not the client's to replace: wrong token");
  }
  if (session->state != ServerSession::State::kFenced) replaced_.push_back(id);
  return absl::OkStatus();
}

void ServerCore::CloseSession(ServerSession& session) {
  StoreWord(region_.SessionWord(session.word), 0);
  sessions_.Remove(session.id);
}

void ServerCore::EndSession(uint32_t id) {
  ServerSession* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == ServerSession::State::kOpen);
  --open_sessions_;
  if (session->book.blocks().empty()) {
    CloseSession(*session);
    return;
  }
  session->state = ServerSession::State::kFenced;
  ++waiting_fenced_;
}

void ServerCore::LoseSession(uint32_t id) {
  ServerSession* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == ServerSession::State::kOpen);
  --open_sessions_;
  ++sessions_lost_;
  session->state = ServerSession::State::kLost;
}

void ServerCore::FenceSession(uint32_t id) {
  ServerSession* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == ServerSession::State::kLost);
  StoreWord(region_.SessionWord(session->word), 0);
  session->state = ServerSession::State::kFenced;
  ++waiting_fenced_;
}

ServerCore::Blocks ServerCore::TakeBlocks(uint32_t id, const BlocksRequest& request) {
  ServerSession* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == ServerSession::State::kOpen);
  Blocks result;
  auto refuse = [&result](BlocksOutcome outcome) {
    result.reply.outcome = static_cast<uint32_t>(outcome);
    return result;
  };
  if (session->read_only) return refuse(BlocksOutcome::kRefused);
  if (draining()) return refuse(BlocksOutcome::kDraining);

  SizeClass size_class = static_cast<SizeClass>(request.size_class);
  std::vector<BlockRef> blocks;
  if (size_class == kRunClass) {
    std::optional<BlockRef> run = allocator_.TakeRun(request.run_bytes, tick_);
    if (run) blocks.push_back(*run);
  } else {
    uint64_t bytes = std::min(kMostBatchBytes, plan_.heap_bytes / kBatchesPerHeap);
    uint64_t most = std::max<uint64_t>(1, bytes / BlockBytes(size_class));
    allocator_.Take(size_class, static_cast<uint32_t>(std::min<uint64_t>(request.want, most)),
                    tick_, blocks);
  }
  if (blocks.empty()) return refuse(BlocksOutcome::kMemoryFull);
  for (BlockRef block : blocks) result.words.push_back(block.word().raw());
  result.reply.count = static_cast<uint32_t>(blocks.size());
  result.reply.batch = session->book.Add(blocks);
  // With what has come back forgotten, all books together hold no more than what is allocated.
  if (session->book.NeedsPruning()) {
    session->book.Prune([this](BlockRef block) { return allocator_.pool().Allocated(block); });
  }
  // More than one a block: an attempt that fails uses up its version, not its block.
  result.reply.version_count = std::max<uint64_t>(64, 4 * blocks.size());
  result.reply.first_version = next_version_;
  next_version_ += result.reply.version_count;
  return result;
}

bool ServerCore::Resolve(uint32_t id, uint64_t batch) {
  ServerSession* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr);
  return session->book.Resolve(batch);
}

bool ServerCore::Expire(uint64_t slot_address, SlotWord word) {
  if (!region_.IsSlotAddress(slot_address) || !word.live()) return false;
  std::byte* slot = region_.At(slot_address);
  if (LoadWord(slot) != word.raw() || word.frozen()) return true;
  // Linked and allocated: its bytes don't change before this thread frees it. The word is checked
  // all the same, for a client may have written anything into the slot.
  if (!allocator_.pool().Find(word)) return false;
  const std::byte* record = region_.At(region_.geometry().RecordAddress(word));
  RecordHeader header(LoadWord(record));
  if (!header.plausible() || header.generation() != word.generation()) return false;
  if (!header.expires() || LoadWord(record + kRecordPrefixBytes) > tick_) return true;
  absl::StatusOr<uint64_t> found =
      atomics_->CompareSwap(slot_address, word.raw(), SlotWord::Empty().raw());
  if (!found.ok()) {
    fault_.Update(found.status());
  } else if (*found == word.raw()) {
    allocator_.Return(word, tick_);
  }
  return true;
}

// Grace.

void ServerCore::LookAtWords() {
  hold_ = {tick_, 0};
  for (const auto& [id, session] : sessions_.all()) {
    uint64_t word = LoadWord(region_.SessionWord(session->word));
    if (word != 0 && (hold_.oldest == 0 || word < hold_.oldest)) hold_.oldest = word;
  }
}

bool ServerCore::AdvanceGrace() {
  if (!allocator_.GraceDue(tick_)) return false;
  uint64_t period = sessions_.all().size() > kManySessions ? kLookPeriod : 1;
  if (tick_ - hold_.seen >= period) LookAtWords();
  return allocator_.Advance(tick_, hold_, kGraceEndsPerTurn) == kGraceEndsPerTurn;
}

// Walks.

uint64_t ServerCore::RequestCount() { return ++requested_ticket_; }

std::unordered_set<uint64_t> ServerCore::Candidates() const {
  std::unordered_set<uint64_t> blocks;
  auto for_each = [this](bool fenced, auto&& act) {
    for (const auto& [id, session] : sessions_.all()) {
      if ((session->state == ServerSession::State::kFenced) != fenced) continue;
      for (BlockRef block : session->book.blocks()) act(block);
    }
  };
  for_each(true, [&](BlockRef block) {
    if (allocator_.pool().Allocated(block)) blocks.insert(block.raw());
  });
  // A batch may stay unresolved for so long that the 16 bits have come round, and the very same
  // block and generation are in a living session's hands.
  if (!blocks.empty()) for_each(false, [&](BlockRef block) { blocks.erase(block.raw()); });
  return blocks;
}

void ServerCore::StartWalk() {
  walk_.emplace(region_, atomics_);
  walking_ticket_ = requested_ticket_;
  if (waiting_fenced_ == 0) return;
  for (uint64_t block : Candidates()) walk_->AddBlock(BlockRef::FromRaw(block));
  for (const auto& [id, session] : sessions_.all()) {
    if (session->state == ServerSession::State::kFenced) walk_->AddFenced(id);
  }
  waiting_fenced_ = 0;
}

// A block goes back if it was allocated and of the same 16-bit generation at the walk's start and
// still is: then it has been throughout, for the generation can't come round within a walk.
void ServerCore::FinishWalk() {
  counted_ticket_ = walking_ticket_;
  counted_ = walk_->counts();
  fault_.Update(walk_->fault());
  if (!walk_->fenced().empty()) {
    if (!recovered_) recovered_.emplace();
    for (BlockRef block : walk_->Unlinked()) {
      if (allocator_.ReturnIfSame(block, tick_)) ++recovered_->blocks;
    }
    recovered_->locks += walk_->counts().released;
    for (uint32_t id : walk_->fenced()) {
      CloseSession(*sessions_.Find(id));
      ++recovered_->sessions;
    }
  }
  walk_.reset();
}

bool ServerCore::AdvanceWalk() {
  if (!walk_) {
    if (waiting_fenced_ == 0 && requested_ticket_ == counted_ticket_) return false;
    StartWalk();
  }
  if (walk_->Step(kBucketsPerTurn)) FinishWalk();
  return true;
}

bool ServerCore::Background() {
  bool more = AdvanceGrace();
  return AdvanceWalk() || more;
}

std::optional<RecoveryReport> ServerCore::TakeRecovered() {
  return std::exchange(recovered_, std::nullopt);
}

// Status.

void ServerCore::FillSessions(control::StatusReply& status) const {
  for (const auto& [id, session] : sessions_.all()) {
    control::SessionInfo& info = *status.add_sessions();
    info.set_session_id(id);
    info.set_pid(session->pid);
    info.set_client_name(session->client_name);
    info.set_read_only(session->read_only);
    info.set_peer(session->peer);
    info.set_age_ms(tick_ - session->opened_tick);
    info.set_blocks_in_hand(session->book.blocks().size());
    uint64_t word = LoadWord(region_.SessionWord(session->word));
    info.set_in_call(word != 0);
    info.set_in_call_ms(word != 0 && word < tick_ ? tick_ - word : 0);
  }
  status.set_sessions_opened(sessions_opened_);
  status.set_sessions_lost(sessions_lost_);
  status.set_connections_refused(connections_refused_);
  status.set_returns_refused(allocator_.returns_refused());
}

void ServerCore::FillStatus(control::StatusReply& status) const {
  const BlockPool& pool = allocator_.pool();
  status.set_server_release(config_.release);
  status.set_layout_version(kLayoutVersion);
  status.set_atomic_domain(nic_atomics() ? "nic" : "cpu");
  for (const std::string& endpoint : config_.endpoints) status.add_endpoints(endpoint);
  status.set_incarnation(plan_.incarnation);
  status.set_state(draining() ? "draining" : "serving");
  status.set_uptime_ms(tick_ - 1);
  status.set_tick(tick_);
  status.set_tick_lag_ms_max(tick_lag_max_);
  status.set_region_bytes(plan_.region_bytes);
  status.set_huge_pages(config_.huge_pages);
  status.set_numa(config_.numa);
  status.set_heap_bytes(pool.heap_bytes());
  status.set_heap_used_bytes(pool.allocated_bytes());
  status.set_heap_grace_bytes(pool.grace_bytes());
  status.set_heap_free_bytes(pool.free_bytes());
  status.set_allocator_bytes(allocator_.metadata_bytes());
  for (uint32_t c = 1; c <= kRunClass; ++c) {
    if (!IsBlockClass(static_cast<SizeClass>(c))) continue;
    const BlockPool::ClassUse& use = pool.use(static_cast<SizeClass>(c));
    if (use.bytes == 0) continue;
    control::ClassUse& out = *status.add_classes();
    out.set_size_class(c);
    out.set_block_bytes(c == kRunClass ? 0 : BlockBytes(static_cast<SizeClass>(c)));
    out.set_blocks_used(use.allocated);
    out.set_blocks_free(use.free);
    out.set_bytes(use.bytes);
  }
  status.set_index_bytes(plan_.index_bytes);
  status.set_index_slots(region_.bucket_count() * kSlotsPerBucket);
  status.set_subtables(plan_.index_bytes / region_.geometry().SubtableBytes());
  status.set_items(counted_.items);
  status.set_locks_held(counted_.locks);
  status.set_grace_ms(plan_.grace_ms);
  status.set_max_value_bytes(plan_.max_value_bytes);
  status.set_max_key_bytes(plan_.max_key_bytes);
  FillSessions(status);
}

}  // namespace dunlin
