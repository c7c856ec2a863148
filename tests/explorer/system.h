#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/layout/geometry.h"
#include "tests/explorer/heap_book.h"
#include "tests/explorer/model.h"
#include "tests/explorer/scenario.h"
#include "tests/explorer/world.h"

namespace dunlin::explorer {

// One thing that may happen next.
struct Transition {
  enum class Kind : uint8_t {
    kStart,     // a client begins its next operation
    kPost,      // reads the clock and posts its chain
    kWord,      // one verb, or one word of a READ or WRITE, takes effect
    kComplete,  // the client sees that its chain is done
    kVerify,    // reads the clock
    kWake,      // ends a wait
    kSupply,    // gets the block it needs
    kAsk,       // the server expires a record that the client asked it to
    kDie,
    kLose,  // a client's session breaks and is replaced
    kTick,
    kRecover,  // the server releases the lock of a session that is no more
    kRelocateRead,
    kRelocateSwing,
    kFreeze,       // one step of the freezer
    kRefresh,      // a client copies the directory
    kSplit,        // one step of a split
    kCancelSplit,  // that is given up
    kSweep,        // one step of a sweep
  };
  Kind kind = Kind::kStart;
  uint8_t client = 0;
  uint8_t verb = 0;  // or bucket, or slot
  uint8_t word = 0;
};

// The explored system: clients that run the protocol's machines over one small region, whatever the
// server does around them, and the checks. Apply takes one step from the state in `world`.
//
// What is not interleaved, and why that loses nothing:
//   - a Step of a machine is local, so it is taken at once when its input is there. The response is
//     then as early as can be and orders more operations than a later one would;
//   - a word that nobody can change any more (a slot of a key that no operation is about, a heap
//     block where blocks are not reused) is read as soon as it may be;
//   - the words of a block that nobody can name yet are written as soon as they may be;
//   - while the clock can't advance any more, reading it is local;
//   - bucket headers are read at once: of a header that was READ the machines look only at the
//     identity. A split makes that another one for good, and a sample with another one is thrown
//     away as if it were posted later (Scenario::headers_move turns this off);
//   - a split takes and gives back a lock that no operation asks for together with the next word;
//   - what a machine that begins its search anew was told before is forgotten (ForgetPast).
class System {
 public:
  explicit System(const Scenario& scenario);
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  void Reset();
  // Puts the state away, and back.
  void Save(World& copy) const;
  void Restore(const World& copy);
  void Enumerate(std::vector<Transition>& out) const;
  void Apply(const Transition& transition);
  // Nothing can happen any more: checks what must be true then.
  void CheckAtRest();
  // Equal states have equal digests.
  uint64_t Digest() const;

  // Empty, or what went wrong in the last Apply or CheckAtRest.
  const std::string& violation() const { return violation_; }
  void ClearViolation() { violation_.clear(); }
  // What happens is also told in words, while `log` is set.
  void LogTo(std::vector<std::string>* log) { log_ = log; }
  std::string DescribeRegion() const;
  std::string DescribeModel() const { return model_.Describe(); }

 private:
  Client& client(uint32_t c) { return world_->clients[c]; }
  const ClientPlan& plan(uint32_t c) const { return scenario_.clients[c]; }
  const Op& op(uint32_t c) const { return plan(c).ops[world_->clients[c].op]; }
  uint64_t Clock(uint32_t c) const { return world_->tick - plan(c).clock_lag; }
  bool ClockMoves() const { return world_->ticks_left != 0; }
  uint32_t SessionOf(uint32_t c) const {
    return scenario_.one_session ? 1 : 1 + c + 8u * world_->clients[c].session;
  }
  bool SessionLives(uint32_t session) const;
  Env EnvOf(uint32_t c) const;

  // system_client.cc and system_outcome.cc: what happens inside a client.
  void Start(uint32_t c);
  void Construct(uint32_t c);
  void Run(uint32_t c);
  void ForgetPast(uint32_t c);
  void Refresh(uint32_t c);
  Action StepMachine(uint32_t c);
  void ReturnFreed(uint32_t c);
  void SupplyBlock(uint32_t c);
  void FailBlock(uint32_t c);
  void OnDone(uint32_t c);
  void OnResolved(uint32_t c);
  void BeginResolve(uint32_t c, const Observed& observed);
  void Respond(uint32_t c, const Observed& observed);
  Observed ObserveGet(uint32_t c);
  Observed ObservePut(uint32_t c);
  Observed ObserveModify(uint32_t c);
  void NextOp(uint32_t c);

  // system_scan.cc
  void StartScan(uint32_t c);
  void CollectScan(uint32_t c);
  void OnScanned(uint32_t c);
  void FollowScans();
  void Lose(uint32_t c);
  void Die(uint32_t c);
  void Ask(uint32_t c);

  // system_chain.cc: chains, word by word.
  // Posts; returns true if the chain is done at once and its completion needs no interleaving.
  bool Post(uint32_t c);
  bool TakeWorks(uint32_t c, uint32_t first);
  bool GoOnAlong(uint32_t c);
  bool HoldsUpReuse(const Client& k) const;
  bool RunEager(uint32_t c);
  void Complete(uint32_t c);
  bool ChainDone(const Client& client) const;
  bool CompletionIsLocal() const { return !ClockMoves() && world_->losses_left == 0; }
  uint32_t EnabledVerbs(const Client& client) const;
  bool Moves(const Work& work, uint32_t word) const;
  void DoWord(uint32_t c, uint32_t verb, uint32_t word);
  void DoWrite(uint32_t c, const Work& work, uint32_t word);
  void OnSlotSwap(uint32_t actor, uint64_t address, uint64_t from, uint64_t to);
  uint64_t CompareSwap(uint32_t actor, uint64_t address, uint64_t compare, uint64_t swap);
  void NoteChange(uint32_t actor);

  // system_server.cc: what the server does around the clients, and the clock.
  void Tick();
  void Recover(uint32_t bucket);
  void RelocateRead(uint64_t slot_address);
  void RelocateSwing();
  bool FreezerCanStep() const;
  void FreezerStep();

  // system_split.cc
  class Atomics;
  uint32_t SubtablesUsed() const {
    return scenario_.splits == 0 ? 1 : scenario_.splits == 1 ? 3 : 4;
  }
  uint64_t BucketAddress(uint32_t number) const;
  void EnumerateSplitter(std::vector<Transition>& out) const;
  bool CanBeginSplit() const;
  bool IsSeen(uint64_t address) const;
  void BeginSplit();
  void SplitStep();
  void CancelSplit();
  void Publish();

  // system_sweep.cc
  void EnumerateSweeper(std::vector<Transition>& out) const;
  bool SweeperIsIn(uint64_t subtable) const;
  void SweepStep();
  void BeginSweep();
  void WalkOn();
  void EndSweep();
  bool Running() const;

  void EnumerateServer(std::vector<Transition>& out) const;

  bool CanStart(uint32_t c) const;
  void EnumerateClient(uint32_t c, std::vector<Transition>& out) const;
  bool HoldsKey(SlotWord word, uint32_t key) const;
  ModelKey RecordFor(SlotWord word) const;
  bool LeadsTo(uint64_t hash, uint64_t slot_address) const;
  void CheckHeaders();

  uint64_t WordAt(uint64_t address) const { return PlainWord(world_->region + address); }
  void Violate(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }
  // `text` is composed only if somebody wants it.
  template <typename Text>
  void Log(Text text) const {
    if (log_ != nullptr) log_->push_back(text());
  }
  std::string AddressName(uint64_t address) const;
  std::string WordName(uint64_t address, uint64_t raw) const;
  std::string ClientName(uint32_t c) const;

  const Scenario& scenario_;
  Geometry geometry_;
  std::unique_ptr<World> world_;
  std::string violation_;
  HeapBook book_;
  Model model_;
  std::vector<std::string>* log_ = nullptr;
};

std::string_view NameOf(Result result);

}  // namespace dunlin::explorer
