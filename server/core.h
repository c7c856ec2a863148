#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/random.h"
#include "common/fabric/chain_frames.h"
#include "common/fabric/on_mapping.h"
#include "common/layout/lane.h"
#include "common/layout/superblock.h"
#include "common/memory/allocator.h"
#include "proto/control.pb.h"
#include "server/count_walk.h"
#include "server/cpu_atomics.h"
#include "server/eviction/evictor.h"
#include "server/eviction/use_reader.h"
#include "server/growth/grower.h"
#include "server/index/index_space.h"
#include "server/index/word_changer.h"
#include "server/lock_watch.h"
#include "server/patrol/patrol.h"
#include "server/region_view.h"
#include "server/session_registry.h"
#include "server/snapshot/snapshot_loader.h"
#include "server/snapshot/snapshot_service.h"

namespace dunlin {

// What was done about sessions that did not end in order.
struct RecoveryReport {
  uint32_t sessions = 0;
  uint64_t blocks = 0;  // freed
};

// A session that is to be ended by force, since others can't wait for it any longer.
struct OverdueSession {
  uint32_t id = 0;
  uint32_t pid = 0;  // of its process, on shared memory
  std::string why;
};

// All that the server knows and decides, without sockets, clock or log: it is told the time and
// what happened. Works on the region through the same words as any client. Not thread safe.
class ServerCore {
 public:
  struct Config {
    std::string release;
    uint32_t pid = 0;
    bool huge_pages = false;
    std::string numa;
    uint64_t first_version = 1;  // above every version used before: the wall clock in ns
    uint64_t token_seed = 0;     // unpredictable
    // Who changes words for the server; borrowed. Null: this processor.
    AtomicAgent* atomics = nullptr;
    // Not empty: why sessions on shared memory are refused.
    std::string no_shm_because;
    bool cache = false;               // when memory is full, records make room
    uint32_t patrol_permille = 20;    // of one core; for status
    uint64_t patrol_period = 10'000;  // ticks from walk to walk, at least
    uint64_t lock_patience = 1'000;   // ticks that a living session may keep a lock waited for
    uint64_t hold_patience = 10'000;  // ticks that one may hold back reuse while memory is short
    std::vector<std::string> endpoints;
  };

  // `base`: a formatted region that outlives this.
  ServerCore(std::byte* base, const Superblock& plan, Config config);

  // The time, in ms since the server started, plus 1. Earlier than the last is ignored. Clients see
  // it at once.
  void SetTick(uint64_t tick);
  uint64_t tick() const { return tick_; }

  void SetState(ServerState state);
  bool draining() const { return state_ != ServerState::kServing; }

  // Sessions.
  struct NewSession {
    std::string client_name;
    uint32_t pid = 0;
    bool read_only = false;
    std::string peer = "shm";
  };
  absl::StatusOr<const SessionEntry*> OpenSession(const NewSession& request);
  // A client gives up an earlier session of its own. Whoever holds that one's connection has to end
  // it (TakeReplaced) before the client hears of its new session. Unauthenticated if the token is
  // not that session's. OK if there is no such session (any more).
  absl::Status ReplaceSession(uint32_t id, uint64_t token);
  std::vector<uint32_t> TakeReplaced() { return std::exchange(replaced_, {}); }
  // The session promises that it is done. What it left unresolved is treated like a dead one's.
  void EndSession(uint32_t id);
  // Its connection has gone; its process may go on.
  void LoseSession(uint32_t id);
  // Its process has gone (after LoseSession): it is fenced.
  void FenceSession(uint32_t id);

  // Blocks. The session must be open.
  struct Blocks {
    BlocksReply reply{};
    std::vector<uint64_t> words;
  };
  // `again`: the same request was not to be served before. With kMemoryFull in cache mode it may be
  // after some Background.
  Blocks TakeBlocks(uint32_t session, const BlocksRequest& request, bool again = false);
  // Ticks for which it is worth while to try again.
  uint64_t room_patience() const;
  void ReturnBlock(SlotWord word) { allocator_.Return(word, tick_); }
  void PrefetchReturn(SlotWord word) const { allocator_.Prefetch(word); }
  // False if that batch was never handed out: the session is confused.
  [[nodiscard]] bool Resolve(uint32_t session, uint64_t batch);
  // Empties the slot if it still holds `word` and that record is past its expiry. False if the
  // request makes no sense: no such slot, or no such record.
  [[nodiscard]] bool Expire(uint64_t slot_address, SlotWord word);

  // Somebody waits for the lock at `address`, which he found to be `word`. Released, if its holder
  // is no more; overdue, if a living one has kept it for too long. False if the request makes no
  // sense: no bucket lies there.
  [[nodiscard]] bool ExamineLock(uint64_t address, BucketHeader word);
  // Somebody found no slot for a key whose hash begins with `position`, in the subtable that he
  // takes to be `depth` bits deep.
  GrowOutcome AskGrow(uint32_t position, uint32_t depth);
  // Sessions to be ended by force, once each.
  std::vector<OverdueSession> TakeOverdue() { return std::exchange(overdue_, {}); }

  // Executes a chain that a remote session sent; it was parsed for its rights.
  void Execute(Chain& chain) { ExecuteChain(chain, region_.At(0)); }
  // Of the body of a chain request that is to come; believes nothing.
  void PrefetchChain(std::span<const std::byte> body) const {
    PrefetchChainRequest(body, region_.At(0), plan().region_bytes);
  }
  bool nic_atomics() const { return config_.atomics != nullptr; }

  // Not OK: words can't be changed as they must be; the server is of no use any more.
  const absl::Status& fault() const { return fault_; }

  // Does a bounded piece of what is pending and somebody may wait for. True if more can be done at
  // once.
  bool Background();

  // Clients tell faster than at kTickPeriod what they use: Background should come every tick.
  bool in_demand() const { return told_uses_; }

  // The patrol (patrol/patrol.h) and how fast it is to go are the caller's to drive.
  Patrol& patrol() { return patrol_; }
  const Patrol& patrol() const { return patrol_; }
  // A small piece of it. False: nothing is due.
  bool StepPatrol();
  // The time that all pieces took, for status.
  void SetPatrolNanos(uint64_t nanos) { patrol_nanos_ = nanos; }

  // Snapshots; before the first session, and at most once. The writer's directory was started from
  // what is then loaded, or from nothing.
  void EnableSnapshots(std::unique_ptr<SnapshotWriter> writer,
                       const SnapshotService::Options& options);
  // Fills the region, which must be empty; the statuses are SnapshotLoader's. REQUIRES:
  // EnableSnapshots. `older`: there are newer ones. `skipped`: those that could not be used, and
  // why.
  absl::Status LoadSnapshot(const SnapshotReader& reader, bool older,
                            std::vector<std::string> skipped);
  // The wall clock, in unix milliseconds; for expiry times on disk.
  void SetWall(int64_t unix_ms) { unix_ms_ = unix_ms; }
  // Null: this server makes none.
  SnapshotService* snapshots() { return snapshots_.get(); }
  const SnapshotService* snapshots() const { return snapshots_.get(); }
  // A small piece of what is due. False: nothing is.
  bool StepSnapshots();

  // A count of the index is under way until CountDone(ticket) says so; Background drives it.
  uint64_t RequestCount();
  bool CountDone(uint64_t ticket) const { return counted_ticket_ >= ticket; }

  void FillStatus(control::StatusReply& status) const;

  const IndexSpace& index() const { return index_; }
  const Grower& grower() const { return grower_; }
  const SessionRegistry& sessions() const { return sessions_; }
  const Allocator& allocator() const { return allocator_; }
  const Superblock& plan() const { return plan_; }
  const Config& config() const { return config_; }
  uint32_t OpenSessions() const { return open_sessions_; }
  void CountRefusedConnection() { ++connections_refused_; }

  // What recovery did since the last call, for the log.
  std::optional<RecoveryReport> TakeRecovered();

 private:
  void LookAtWords();
  bool AdvanceGrace();
  bool AdvanceCount();
  bool AdvanceEviction();
  void AllocateFor(const BlocksRequest& request, std::vector<BlockRef>& blocks);
  bool AdvanceGrowth();
  bool SplitNow(uint32_t position);
  bool MakeRoomForIndex();
  uint64_t EstimateRecords();
  bool Recover();
  void EndRecovered(SessionEntry& session);
  void AddOverdue(SessionEntry& session, std::string why);
  void CloseSession(SessionEntry& session);
  bool MemoryShort() const;
  void FillSessions(control::StatusReply& status) const;
  void FillMemory(control::StatusReply& status) const;
  void FillPatrol(control::StatusReply& status) const;

  RegionView region_;
  const Superblock plan_;
  const Config config_;
  CpuAtomics cpu_atomics_;
  AtomicAgent* const atomics_;
  absl::Status fault_;
  Random tokens_;
  std::vector<uint32_t> replaced_;
  std::vector<OverdueSession> overdue_;
  Allocator allocator_;
  WordChanger words_;
  SessionRegistry sessions_;
  IndexSpace index_;
  LockWatch locks_;
  Patrol patrol_;
  Grower grower_;
  UseReader uses_;
  Evictor evictor_;
  uint64_t uses_read_at_ = 0;
  bool told_uses_ = false;       // at the last look
  uint64_t blocks_in_hand_ = 0;  // of all sessions, when they were last counted
  uint64_t in_hand_at_ = 0;
  uint32_t open_sessions_ = 0;
  ServerState state_ = ServerState::kStarting;
  uint64_t tick_ = 1;
  uint64_t tick_lag_max_ = 0;
  uint64_t next_version_;
  HoldBack hold_;
  uint64_t refused_at_ = 0;  // tick at which blocks were last refused for want of memory

  std::deque<uint32_t> fenced_;  // sessions whose blocks are still to be looked at
  size_t fenced_block_ = 0;      // of the first of these: blocks that were
  std::optional<CountWalk> count_;
  uint64_t requested_ticket_ = 0;
  uint64_t counting_ticket_ = 0;  // requests that the current count answers
  uint64_t counted_ticket_ = 0;
  CountWalk::Counts counted_;
  std::optional<RecoveryReport> recovered_;
  std::unique_ptr<SnapshotService> snapshots_;
  int64_t unix_ms_ = 0;

  uint64_t patrol_nanos_ = 0;
  uint64_t sessions_opened_ = 0;
  uint64_t sessions_lost_ = 0;
  uint64_t sessions_killed_ = 0;
  uint64_t connections_refused_ = 0;
  uint64_t locks_examined_ = 0;
  uint64_t locks_released_ = 0;   // to who asked
  uint64_t longest_release_ = 0;  // ticks from when somebody asked, and it was dead
};

}  // namespace dunlin
