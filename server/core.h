#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/random.h"
#include "common/fabric/on_mapping.h"
#include "common/layout/lane.h"
#include "common/layout/superblock.h"
#include "common/memory/allocator.h"
#include "proto/control.pb.h"
#include "server/cpu_atomics.h"
#include "server/index_walk.h"
#include "server/region_view.h"
#include "server/session_registry.h"

namespace dunlin {

// What was done about sessions that did not end in order.
struct RecoveryReport {
  uint32_t sessions = 0;
  uint64_t locks = 0;   // released
  uint64_t blocks = 0;  // freed
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
    // Null or a reason why sessions on shared memory are refused.
    std::string no_shm_because;
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
  absl::StatusOr<const ServerSession*> OpenSession(const NewSession& request);
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
  Blocks TakeBlocks(uint32_t session, const BlocksRequest& request);
  void ReturnBlock(SlotWord word) { allocator_.Return(word, tick_); }
  void PrefetchReturn(SlotWord word) const { allocator_.Prefetch(word); }
  // False if that batch was never handed out: the session is confused.
  [[nodiscard]] bool Resolve(uint32_t session, uint64_t batch);
  // Empties the slot if it still holds `word` and that record is past its expiry. False if the
  // request makes no sense: no such slot, or no such record.
  [[nodiscard]] bool Expire(uint64_t slot_address, SlotWord word);

  // Executes a chain that a remote session sent; it was parsed for its rights.
  void Execute(Chain& chain) { ExecuteChain(chain, region_.At(0)); }
  bool nic_atomics() const { return config_.atomics != nullptr; }

  // Not OK: words can't be changed as they must be; the server is of no use any more.
  const absl::Status& fault() const { return fault_; }

  // Does a bounded piece of what is pending. True if more can be done at once.
  bool Background();

  // A count of the index is under way until CountDone(ticket) says so; Background drives it.
  uint64_t RequestCount();
  bool CountDone(uint64_t ticket) const { return counted_ticket_ >= ticket; }

  void FillStatus(control::StatusReply& status) const;

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
  bool AdvanceWalk();
  void StartWalk();
  void FinishWalk();
  // Unresolved blocks of the fenced sessions that are still allocated unchanged.
  std::unordered_set<uint64_t> Candidates() const;
  void CloseSession(ServerSession& session);
  void FillSessions(control::StatusReply& status) const;

  RegionView region_;
  const Superblock plan_;
  const Config config_;
  CpuAtomics cpu_atomics_;
  AtomicAgent* const atomics_;
  absl::Status fault_;
  Random tokens_;
  std::vector<uint32_t> replaced_;
  Allocator allocator_;
  SessionRegistry sessions_;
  uint32_t open_sessions_ = 0;
  ServerState state_ = ServerState::kStarting;
  uint64_t tick_ = 1;
  uint64_t tick_lag_max_ = 0;
  uint64_t next_version_;
  HoldBack hold_;

  std::optional<IndexWalk> walk_;
  uint32_t waiting_fenced_ = 0;  // fenced sessions that no walk has taken up yet
  uint64_t requested_ticket_ = 0;
  uint64_t walking_ticket_ = 0;  // requests that the current walk answers
  uint64_t counted_ticket_ = 0;
  IndexWalk::Counts counted_;
  std::optional<RecoveryReport> recovered_;

  uint64_t sessions_opened_ = 0;
  uint64_t sessions_lost_ = 0;
  uint64_t connections_refused_ = 0;
};

}  // namespace dunlin
