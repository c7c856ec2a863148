#include "server/core.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/index/slot_finder.h"

namespace dunlin {
namespace {

// Bounds of one turn of Background: well below a millisecond each.
constexpr uint32_t kGraceEndsPerTurn = 4096;
constexpr uint32_t kBucketsPerTurn = 4096;
constexpr size_t kRecoveriesPerTurn = 512;

// A word takes an adapter some microseconds.
constexpr uint32_t kWordsPerTurnByNic = 256;

// The owner of locks that the server itself takes.
constexpr uint32_t kServerSession = BucketHeader::kMaxOwner;

// A look at thousands of sessions' words costs a cache miss each: not every tick then.
constexpr uint32_t kManySessions = 64;
constexpr uint64_t kLookPeriod = 8;

// A batch takes at most 1/256 of the heap and at most 1 MiB, but always one block: a few sessions
// with large records must not hold a small heap in their hands.
constexpr uint64_t kMostBatchBytes = uint64_t{1} << 20;
constexpr uint64_t kBatchesPerHeap = 256;
// Of the heap, what a batch of every size in use for every session takes: 1/16. Half of that is in
// their hands at any time.
constexpr uint64_t kInHandShare = 16;

}  // namespace

ServerCore::ServerCore(std::byte* base, const Superblock& plan, Config config)
    : region_(base, plan),
      plan_(plan),
      config_(std::move(config)),
      cpu_atomics_(base),
      atomics_(config_.atomics != nullptr ? config_.atomics : &cpu_atomics_),
      tokens_(config_.token_seed),
      allocator_(plan.heap_bytes, plan.grace_ms),
      words_(atomics_, &allocator_),
      sessions_(plan.session_words, kServerSession - 1),
      index_(region_, plan),
      locks_(config_.lock_patience),
      patrol_(region_, {&index_, &allocator_, atomics_, &sessions_}, kServerSession,
              config_.patrol_period, !config_.cache),
      grower_(region_, {&index_, &allocator_, atomics_}, kServerSession,
              config_.atomics != nullptr ? kWordsPerTurnByNic : Grower::kWordsPerStep),
      uses_(region_, AccessArea::Of(plan), plan.session_words),
      evictor_(region_, {&index_, &allocator_, atomics_}),
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

absl::StatusOr<const SessionEntry*> ServerCore::OpenSession(const NewSession& request) {
  if (draining()) return absl::UnavailableError("the server is shutting down");
  absl::StatusOr<SessionEntry*> added = sessions_.Add();
  if (!added.ok()) return added.status();
  SessionEntry& session = **added;
  session.client_name = request.client_name;
  session.pid = request.pid;
  session.read_only = request.read_only;
  session.peer = request.peer;
  session.token = tokens_();
  session.opened_tick = tick_;
  StoreWord(region_.SessionWord(session.word), 0);
  uses_.Begin(session.word);
  ++open_sessions_;
  ++sessions_opened_;
  return &session;
}

absl::Status ServerCore::ReplaceSession(uint32_t id, uint64_t token) {
  const SessionEntry* session = sessions_.Find(id);
  if (session == nullptr) return absl::OkStatus();
  if (session->token != token) {
    return absl::UnauthenticatedError("session " + std::to_string(id) +
                                      " is not the client's to replace: wrong token");
  }
  if (session->state != SessionEntry::State::kFenced) replaced_.push_back(id);
  return absl::OkStatus();
}

void ServerCore::CloseSession(SessionEntry& session) {
  StoreWord(region_.SessionWord(session.word), 0);
  sessions_.Remove(session.id);
}

void ServerCore::EndSession(uint32_t id) {
  SessionEntry* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == SessionEntry::State::kOpen);
  --open_sessions_;
  if (session->book.blocks().empty()) {
    CloseSession(*session);
    return;
  }
  session->state = SessionEntry::State::kFenced;
  fenced_.push_back(id);
}

void ServerCore::LoseSession(uint32_t id) {
  SessionEntry* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == SessionEntry::State::kOpen);
  --open_sessions_;
  ++sessions_lost_;
  session->state = SessionEntry::State::kLost;
  locks_.OwnerLost(id, tick_);
}

void ServerCore::FenceSession(uint32_t id) {
  SessionEntry* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == SessionEntry::State::kLost);
  StoreWord(region_.SessionWord(session->word), 0);
  session->state = SessionEntry::State::kFenced;
  fenced_.push_back(id);
}

void ServerCore::AllocateFor(const BlocksRequest& request, std::vector<BlockRef>& blocks) {
  const SizeClass size_class = static_cast<SizeClass>(request.size_class);
  if (size_class == kRunClass) {
    std::optional<BlockRef> run = allocator_.TakeRun(request.run_bytes, tick_);
    if (run) blocks.push_back(*run);
    return;
  }
  const uint64_t classes = std::max(1u, allocator_.pool().classes_in_use());
  const uint64_t share =
      plan_.heap_bytes / kInHandShare / std::max<uint64_t>(1, open_sessions_) / classes;
  uint64_t bytes = std::min({kMostBatchBytes, plan_.heap_bytes / kBatchesPerHeap, share});
  uint64_t most = std::max<uint64_t>(1, bytes / BlockBytes(size_class));
  allocator_.Take(size_class, static_cast<uint32_t>(std::min<uint64_t>(request.want, most)), tick_,
                  blocks);
}

// What was asked for by others comes first out of what gets free, so it is worth waiting for more
// than one grace period.
uint64_t ServerCore::room_patience() const { return config_.cache ? 3 * plan_.grace_ms + 1000 : 0; }

ServerCore::Blocks ServerCore::TakeBlocks(uint32_t id, const BlocksRequest& request, bool again) {
  SessionEntry* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr && session->state == SessionEntry::State::kOpen);
  Blocks result;
  auto refuse = [&result](BlocksOutcome outcome) {
    result.reply.outcome = static_cast<uint32_t>(outcome);
    return result;
  };
  if (session->read_only) return refuse(BlocksOutcome::kRefused);
  if (draining()) return refuse(BlocksOutcome::kDraining);

  const bool run = request.size_class == kRunClass;
  const uint32_t pages = static_cast<uint32_t>(RunBytes(request.run_bytes) / kPageBytes);
  std::vector<BlockRef> blocks;
  AllocateFor(request, blocks);
  // Slabs that were to be emptied are better than nothing; in a cache they make room for others.
  if (blocks.empty() && !run && !config_.cache &&
      allocator_.marks().OpenClosed(static_cast<SizeClass>(request.size_class)) != 0) {
    AllocateFor(request, blocks);
  }
  if (config_.cache) {
    // Of a batch, what it got; who asks again is not to count twice.
    const uint32_t asked = std::max<uint32_t>(1, static_cast<uint32_t>(blocks.size()));
    if (!again || !blocks.empty()) {
      evictor_.NoteDemand(static_cast<SizeClass>(request.size_class), run ? pages : asked);
    }
    if (blocks.empty() && run) evictor_.NoteMissingRun(pages);
  }
  if (blocks.empty()) {
    refused_at_ = tick_;
    return refuse(BlocksOutcome::kMemoryFull);
  }
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
  SessionEntry* session = sessions_.Find(id);
  DUNLIN_CHECK(session != nullptr);
  return session->book.Resolve(batch);
}

bool ServerCore::Expire(uint64_t slot_address, SlotWord word) {
  if (!index_.IsSlotAddress(slot_address) || !word.live()) return false;
  if (LoadWord(region_.At(slot_address)) != word.raw() || word.frozen()) return true;
  // Linked and allocated: its bytes don't change before this thread frees it. The word is checked
  // all the same, for a client may have written anything into the slot.
  std::optional<BlockRef> block = allocator_.pool().Find(word);
  if (!block) return false;
  std::optional<RecordSight> sight = SeeRecord(region_, word, allocator_.pool().BytesOf(*block));
  if (!sight) return false;
  if (sight->expiry == 0 || sight->expiry > tick_) return true;
  words_.Unlink(slot_address, word, tick_);
  fault_.Update(words_.fault());
  return true;
}

// Locks.

bool ServerCore::ExamineLock(uint64_t address, BucketHeader word) {
  if (!index_.IsHeaderAddress(address)) return false;
  ++locks_examined_;
  const BucketHeader now(LoadWord(region_.At(address)));
  if (now != word || !now.held() || now.owner() == kServerSession) {
    locks_.Forget(address);
    return true;
  }
  if (!sessions_.Lives(now.owner())) {
    if (words_.ReleaseDead(address, now)) {
      ++locks_released_;
      longest_release_ = std::max(longest_release_, locks_.AskedFor(address, now, tick_));
    }
    fault_.Update(words_.fault());
    locks_.Forget(address);
    return true;
  }
  if (locks_.Seen(address, now, tick_)) {
    AddOverdue(*sessions_.Find(now.owner()),
               "it keeps a lock that others wait for, for more than " +
                   std::to_string(config_.lock_patience) + " ms");
  }
  return true;
}

void ServerCore::AddOverdue(SessionEntry& session, std::string why) {
  if (session.overdue) return;
  session.overdue = true;
  ++sessions_killed_;
  overdue_.push_back({session.id, session.peer == "shm" ? session.pid : 0, std::move(why)});
}

// Grace.

bool ServerCore::MemoryShort() const {
  constexpr uint64_t kLately = 1'000;
  return refused_at_ != 0 && tick_ - refused_at_ <= kLately;
}

void ServerCore::LookAtWords() {
  hold_ = {tick_, 0};
  SessionEntry* oldest = nullptr;
  for (const auto& [id, session] : sessions_.all()) {
    uint64_t word = LoadWord(region_.SessionWord(session->word));
    if (word == 0 || (hold_.oldest != 0 && word >= hold_.oldest)) continue;
    hold_.oldest = word;
    oldest = session.get();
  }
  const uint64_t pinned = snapshots_ ? snapshots_->pinned_tick() : 0;
  if (pinned != 0 && (hold_.oldest == 0 || pinned < hold_.oldest)) {
    hold_.oldest = pinned;
    oldest = nullptr;
  }
  // Until somebody needs the memory, a long call or a pinned view is nobody's business.
  if (oldest != nullptr && MemoryShort() && hold_.oldest + config_.hold_patience < tick_) {
    AddOverdue(*oldest, "it has held back the reuse of memory for more than " +
                            std::to_string(config_.hold_patience) + " ms while memory is short");
  }
}

bool ServerCore::AdvanceGrace() {
  if (!allocator_.GraceDue(tick_) && !index_.GraceDue(tick_)) return false;
  uint64_t period = sessions_.all().size() > kManySessions ? kLookPeriod : 1;
  if (tick_ - hold_.seen >= period) LookAtWords();
  index_.Advance(tick_, hold_);
  return allocator_.Advance(tick_, hold_, kGraceEndsPerTurn) == kGraceEndsPerTurn;
}

// Recovery.

void ServerCore::EndRecovered(SessionEntry& session) {
  if (!recovered_) recovered_.emplace();
  ++recovered_->sessions;
  fenced_.pop_front();
  fenced_block_ = 0;
  CloseSession(session);
  // Its locks that nobody waits for are found by the next walk, which may come early.
  patrol_.Wake();
}

// What a fenced session had in hand is freed unless a slot names it: nobody else can link it any
// more. A block goes back if it is allocated and of the generation that the session was given; that
// it has been throughout follows from the book, which the patrol prunes long before a generation
// can come round.
bool ServerCore::Recover() {
  if (fenced_.empty()) return false;
  SessionEntry& session = *sessions_.Find(fenced_.front());
  const std::span<const BlockRef> blocks = session.book.blocks();
  const size_t end = std::min(blocks.size(), fenced_block_ + kRecoveriesPerTurn);
  for (; fenced_block_ < end; ++fenced_block_) {
    const BlockRef block = blocks[fenced_block_];
    if (!allocator_.pool().Allocated(block)) continue;
    if (FindSlot(region_, index_, allocator_.pool(), block)) continue;
    if (!recovered_) recovered_.emplace();
    if (allocator_.ReturnIfSame(block, tick_)) ++recovered_->blocks;
  }
  if (fenced_block_ == blocks.size()) EndRecovered(session);
  return true;
}

// Eviction.

bool ServerCore::AdvanceEviction() {
  if (!config_.cache) return false;
  if (uses_read_at_ != tick_) {
    uses_read_at_ = tick_;
    told_uses_ = uses_.Read(sessions_, allocator_);
  }
  const bool more = evictor_.Step(tick_);
  fault_.Update(evictor_.fault());
  return more;
}

// Counting.

uint64_t ServerCore::RequestCount() { return ++requested_ticket_; }

bool ServerCore::AdvanceCount() {
  if (!count_) {
    if (requested_ticket_ == counted_ticket_) return false;
    count_.emplace(region_, index_);
    counting_ticket_ = requested_ticket_;
  }
  const bool moved = count_->Step(kBucketsPerTurn, grower_.splitting()) != 0;
  if (count_->over()) {
    counted_ticket_ = counting_ticket_;
    counted_ = count_->counts();
    count_.reset();
  }
  return moved;
}

// Growth.

// Blocks in clients' hands may be linked or not; half of them, say.
uint64_t ServerCore::EstimateRecords() {
  constexpr uint64_t kBooksPeriod = 64;
  if (tick_ - in_hand_at_ >= kBooksPeriod || in_hand_at_ == 0) {
    in_hand_at_ = tick_;
    blocks_in_hand_ = 0;
    for (const auto& [id, session] : sessions_.all()) {
      blocks_in_hand_ += session->book.blocks().size();
    }
  }
  const uint64_t blocks = allocator_.pool().allocated_blocks();
  return blocks - std::min(blocks, blocks_in_hand_ / 2);
}

// A cache gives the index the memory that it lacks. Whether it is about to.
bool ServerCore::MakeRoomForIndex() {
  if (!grower_.TakeLackOfRoom() || !config_.cache) return false;
  evictor_.NoteMissingRun(static_cast<uint32_t>(index_.area_bytes() / kPageBytes));
  return true;
}

GrowOutcome ServerCore::AskGrow(uint32_t position, uint32_t depth) {
  const GrowOutcome outcome = grower_.Ask(position, depth, tick_);
  return outcome == GrowOutcome::kFull && MakeRoomForIndex() ? GrowOutcome::kGrows : outcome;
}

bool ServerCore::AdvanceGrowth() {
  if (grower_.splitting() == nullptr) {
    std::optional<IndexSpace::Subtable> next = grower_.Next(EstimateRecords(), tick_);
    MakeRoomForIndex();
    if (!next) return false;
    if (patrol_.In(*next)) patrol_.StepBack();
    if (count_ && count_->In(*next)) count_->StepBack();
    if (snapshots_ && snapshots_->In(*next)) snapshots_->StepBack();
    grower_.Start(*next, tick_);
  }
  const bool more = grower_.Step(tick_);
  fault_.Update(grower_.fault());
  if (std::optional<uint64_t> lock = grower_.awaited_lock()) {
    (void)ExamineLock(*lock, BucketHeader(LoadWord(region_.At(*lock))));
  }
  return more;
}

bool ServerCore::StepPatrol() {
  patrol_.Hurry(MemoryShort());
  const bool more = patrol_.Step(tick_, grower_.splitting());
  fault_.Update(patrol_.fault());
  return more;
}

// Snapshots.

void ServerCore::EnableSnapshots(std::unique_ptr<SnapshotWriter> writer,
                                 const SnapshotService::Options& options) {
  DUNLIN_CHECK(snapshots_ == nullptr);
  snapshots_ = std::make_unique<SnapshotService>(region_, &index_, &allocator_.pool(),
                                                 std::move(writer), options);
}

absl::Status ServerCore::LoadSnapshot(const SnapshotReader& reader, bool older,
                                      std::vector<std::string> skipped) {
  SnapshotLoader loader(region_,
                        {&index_, &allocator_, &snapshots_->shadow(),
                         [this](uint32_t position) { return SplitNow(position); }},
                        tick_, unix_ms_);
  DUNLIN_RETURN_IF_ERROR(loader.Load(reader, config_.cache));
  SnapshotService::Base base;
  base.loaded = reader.info();
  base.older = older;
  base.cut = loader.figures().cut != 0;
  // Whoever finds more memory for it later is to have all of it.
  if (base.cut) snapshots_->KeepAll();
  base.loaded_records = loader.figures().records;
  base.expired_records = loader.figures().expired;
  base.skipped = std::move(skipped);
  if (base.cut) {
    base.skipped.push_back(FormatCount(loader.figures().cut) + " records of snapshot " +
                           std::to_string(reader.info().id) + ": they did not fit into memory");
  }
  snapshots_->SetBase(std::move(base));
  next_version_ = std::max(next_version_, reader.info().counts.highest_version + 1);
  return absl::OkStatus();
}

// Nobody uses the index yet, so there is nothing to wait for.
bool ServerCore::SplitNow(uint32_t position) {
  const IndexSpace::Subtable subtable = index_.At(position);
  if (!grower_.MayStart(subtable, tick_)) return false;
  grower_.Start(subtable, tick_);
  constexpr int kMostSteps = 1 << 20;
  for (int i = 0; i < kMostSteps && grower_.splitting() != nullptr; ++i) grower_.Step(tick_);
  fault_.Update(grower_.fault());
  return index_.At(position).depth > subtable.depth;
}

bool ServerCore::StepSnapshots() {
  return snapshots_ != nullptr && snapshots_->Step(tick_, unix_ms_, grower_.splitting());
}

bool ServerCore::Background() {
  bool more = AdvanceGrace();
  more = Recover() || more;
  more = AdvanceGrowth() || more;
  more = AdvanceEviction() || more;
  return AdvanceCount() || more;
}

std::optional<RecoveryReport> ServerCore::TakeRecovered() {
  if (!recovered_ || recovered_->sessions == 0) return std::nullopt;
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
  status.set_sessions_killed(sessions_killed_);
}

void ServerCore::FillPatrol(control::StatusReply& status) const {
  const Patrol::Figures& figures = patrol_.figures();
  status.set_walks(figures.walks);
  status.set_walk_ms(figures.walk_ticks);
  status.set_walk_permille(patrol_.permille());
  status.set_sweeps(figures.sweeps);
  status.set_swept_blocks(figures.swept_blocks);
  status.set_expired(figures.expired);
  status.set_relocated(figures.relocated);
  status.set_expiring_items(figures.expiring_items);
  status.set_patrol_nanos(patrol_nanos_);
  status.set_patrol_share_permille(config_.patrol_permille);
  status.set_locks_examined(locks_examined_);
  status.set_locks_released(locks_released_ + figures.locks_released);
  status.set_lock_release_ms_max(longest_release_);
}

void ServerCore::FillMemory(control::StatusReply& status) const {
  const BlockPool& pool = allocator_.pool();
  status.set_heap_bytes(pool.heap_bytes());
  status.set_heap_index_bytes(pool.index_bytes());
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
}

void ServerCore::FillStatus(control::StatusReply& status) const {
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
  FillMemory(status);
  status.set_index_bytes(index_.index_bytes());
  status.set_index_spare_bytes(index_.spare_bytes());
  status.set_index_slots(index_.slots());
  status.set_subtables(index_.subtables());
  status.set_mode(config_.cache ? "cache" : "store");
  status.set_evicted(evictor_.evicted());
  status.set_splits(grower_.figures().splits);
  status.set_split_ms_max(grower_.figures().longest_ticks);
  // Whoever counted last knows best.
  status.set_items(counted_ticket_ != 0 ? counted_.items : patrol_.figures().items);
  status.set_locks_held(counted_.locks);
  status.set_grace_ms(plan_.grace_ms);
  status.set_max_value_bytes(plan_.max_value_bytes);
  status.set_max_key_bytes(plan_.max_key_bytes);
  FillPatrol(status);
  if (snapshots_) snapshots_->FillStatus(status);
  FillSessions(status);
}

}  // namespace dunlin
