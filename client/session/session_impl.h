#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/connect/directory_copy.h"
#include "client/connect/session_parts.h"
#include "client/session/access_log.h"
#include "client/session/location_cache.h"
#include "client/session/make_session.h"
#include "client/session/operation.h"
#include "client/session/session_blocks.h"
#include "client/session/slot_hints.h"
#include "client/session/tick_source.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/fabric/fabric.h"
#include "common/protocol/in_place.h"
#include "dunlin/client.h"
#include "dunlin/session.h"

namespace dunlin {

// What a put in place knew or tried in vain, for the machine that goes on with it.
struct LostSwing {
  Location hint;
  SlotWord now;  // what the slot held instead; empty: nothing was tried
  uint64_t stamp = 0;
  uint64_t incarnation = 0;
};

// The driver of the protocol's state machines on one channel: it carries out what they ask for
// (chains, clock, blocks, directory, waits) and keeps what they must not know: location cache,
// block pool, deadlines, the session word.
//
// Files: session_impl.cc (set-up, liveness, the session word), link.cc (the connection: lost and
// made again, writes of unknown fate), driver.cc (stepping), calls.cc (blocking calls), in_place.cc
// (the most frequent calls on a mapping), recall.cc (what is kept of places), known_key.cc (keys
// that know their place), batch.cc (many keys, submitted calls), scan_call.cc, access_log.cc (uses,
// for a server in cache mode).
class SessionImpl final : public Session, private PinnedValue::Owner {
 public:
  SessionImpl(SessionOrigin origin, std::unique_ptr<SessionParts> parts,
              const SessionOptions& options);
  ~SessionImpl() override;

  GetResult GetInto(Bytes key, std::span<std::byte> buffer, const CallOptions& options) override;
  GetResult GetString(Bytes key, std::string* value, const CallOptions& options) override;
  GetResult Head(Bytes key, const CallOptions& options) override;
  GetResult GetPinned(Bytes key, PinnedValue* value, const CallOptions& options) override;
  WriteResult PutBytes(Bytes key, Bytes value, const PutOptions& options) override;
  WriteResult RemoveBytes(Bytes key, const CallOptions& options) override;
  WriteResult CompareAndSet(Bytes key, uint64_t version, Bytes value,
                            const PutOptions& options) override;
  WriteResult Add(Bytes key, int64_t delta, const AddOptions& options) override;
  WriteResult Touch(Bytes key, std::optional<Milliseconds> ttl,
                    const CallOptions& options) override;

  GetResult GetKnown(KnownKey& known, std::span<std::byte> buffer,
                     const CallOptions& options) override;
  WriteResult PutKnown(KnownKey& known, Bytes value, const PutOptions& options) override;

  void MultiGet(std::span<GetRequest> requests, const CallOptions& options) override;
  void MultiPut(std::span<PutRequest> requests, const CallOptions& options) override;
  void MultiRemove(std::span<RemoveRequest> requests, const CallOptions& options) override;

  bool SubmitGet(Bytes key, std::span<std::byte> buffer, GetCallback done,
                 const CallOptions& options) override;
  bool SubmitPut(Bytes key, Bytes value, WriteCallback done, const PutOptions& options) override;
  bool SubmitRemove(Bytes key, WriteCallback done, const CallOptions& options) override;
  uint32_t Poll() override;
  uint32_t in_flight() const override { return in_flight_; }
  void Drain() override;

  absl::StatusOr<ScanPage> Scan(uint64_t cursor, const ScanOptions& options) override;

  Stats stats() const override;
  absl::Status connection() const override;
  void ForgetLocations() override {
    cache_.Clear();
    hints_.Clear();
  }
  uint32_t max_key_bytes() const override { return geometry_.max_key_bytes; }
  uint64_t max_value_bytes() const override { return geometry_.max_value_bytes; }

  // For MakeSession.
  absl::Status FetchDirectory();

 private:
  static constexpr Milliseconds kPatient = Milliseconds::max();

  // --- session_impl.cc
  uint64_t Tick() { return ticks_.Now(); }
  // May this call go ahead? Everything but kOk is the call's outcome. `patience`: how long it may
  // take to make a lost connection anew; the client's connect_deadline holds, too.
  Outcome Admit(Milliseconds patience = kPatient) {
    if (guard_->InChild()) return Outcome::kForked;
    env_.now = Tick();
    if (env_.now != last_tick_) {
      OnNewTick();
    } else if (++same_tick_calls_ <= 16 || same_tick_calls_ % 64 == 0) {
      OnSameTick();
    }
    return channel_->broken().ok() || Reconnect(patience) ? Outcome::kOk : Outcome::kUnavailable;
  }
  void OnNewTick();
  void OnSameTick();
  void BreakIfHungUp();
  // While held, the server reuses nothing that was unlinked since the hold began.
  void Hold() {
    if (holds_++ == 0) SetMark(env_.now);
  }
  void Unhold() {
    if (--holds_ == 0) SetMark(0);
  }
  void SetMark(uint64_t tick) {
    mark_tick_ = tick;
    if (mark_ != nullptr) StoreWord(mark_, tick);
  }
  void RenewMark();
  void Unpin() override;

  // --- link.cc
  void Adopt(std::unique_ptr<SessionParts> parts);
  // In place of a broken connection; false if there is none to be had yet.
  bool Reconnect(Milliseconds patience);
  void EndBroken();
  absl::Status ReadRegion(uint64_t offset, std::span<std::byte> to);
  void ReadServerTick();
  void OnServerTick();
  void WaitForChains();
  void BreakIfOverdue();
  bool IsLost(Operation& op, const ResolveMachine::Lost& lost);
  void ResolveLost();
  void StartResolve(Operation& op);
  void SettleResolve(Operation& op, ResolveMachine& resolve);
  bool BeginAgain(Operation& op);

  // --- access_log.cc
  // The record was used, for a server that evicts what isn't.
  void NoteUse(SlotWord word) {
    if (access_.on() && access_.Note(word, env_.now)) SendUses();
  }
  void SendUses();

  // --- driver.cc
  Operation& Blocking() { return operations_[0]; }
  // Sets up an operation on `key`; everything but kOk ends it at once.
  Outcome Prepare(Operation& op, Bytes key, const CallOptions& options);
  void EnsureScratch(Operation& op, uint32_t bytes);
  uint32_t ScratchFor(uint32_t key_bytes) const;
  Location Hint(Operation& op);
  // A copying get of the operation's key in its machine, whatever was in there.
  GetMachine& RestartGet(Operation& op);
  void Start(Operation& op);
  static void KeepFresh(Operation& op);
  void Resume(Operation& op);
  template <typename M>
  void Advance(Operation& op, M& machine);
  template <typename M>
  bool Serve(Operation& op, M& machine, Action action);
  template <typename M>
  bool ServeBlock(Operation& op, M& machine);
  bool WaitForRoom(Operation& op);
  template <typename M>
  bool ServeSink(Operation& op, M& machine);
  void Post(Operation& op);
  bool Wait(Operation& op);
  void ExamineLock(Operation& op, const PutMachine& put);
  bool WaitForGrowth(Operation& op, PutMachine& put);
  template <typename M>
  void Settle(Operation& op, M& machine);
  template <typename M>
  void SettleCall(Operation& op, M& machine);
  static ResolveMachine::Lost LostOf(const Operation& op, const PutMachine& put);
  static ResolveMachine::Lost LostOf(const Operation& op, const ModifyMachine& modify);
  void Finish(Chain& chain);
  void SettleGet(Operation& op, GetMachine& get);
  void SettlePut(Operation& op, PutMachine& put);
  void SettleModify(Operation& op, ModifyMachine& modify);
  void Abandon(Operation& op, Outcome outcome);
  void EndWith(Operation& op, Outcome outcome);
  Deadline DeadlineOf(Operation& op);
  // One round: hands finished chains to their operations, steps those whose wait is over.
  // `wait`: leaves the core to others when there is nothing to do but to wait for chains.
  void Pump(bool wait);
  void PumpWaiting();
  void RunBlocking(Operation& op);
  void AwaitBlocking(Operation& op);

  // --- calls.cc
  bool InPlaceAdmitted(Bytes key);
  Key KeyOf(Bytes key) const;
  GetResult GetOwned(Bytes key, PinnedValue* value, const CallOptions& options);
  GetResult BlockingGet(Bytes key, GetMode mode, std::span<std::byte> buffer, std::string* string,
                        const CallOptions& options);
  Outcome CheckWrite(uint64_t value_bytes, const std::optional<Milliseconds>& ttl) const;
  bool PutsInPlace(Bytes value, const PutOptions& options) const {
    return options.mode == PutMode::kAlways &&
           CheckWrite(value.size(), options.ttl) == Outcome::kOk;
  }
  uint64_t ExpiryOf(const std::optional<Milliseconds>& ttl) const;
  WriteResult BlockingModify(const ModifyMachine::Request& request, Bytes key,
                             const CallOptions& options,
                             const std::optional<Milliseconds>& ttl = std::nullopt);
  WriteResult PutByMachine(Bytes key, Bytes value, const PutOptions& options,
                           const LostSwing& lost);
  void StartPut(Operation& op, Bytes value, const PutOptions& options, const LostSwing& lost = {});

  // --- recall.cc: keys' places, in `hints_` where there is a mapping and in `cache_` elsewhere
  // Where a key's record probably is. Without a block nobody can tell.
  struct Sight {
    uint64_t slot_address = 0;
    SlotWord block;            // class and offset
    SlotHint* hint = nullptr;  // where it is from; may be null
    bool known() const { return !block.empty(); }
    // Whether the slot's word names the record that was looked for.
    bool IsAt(SlotWord word) const { return block == SlotHint::BlockOf(word); }
  };
  Sight SightOf(const Key& key, const Placement& place) const {
    SlotHint* const hint = hints_.Find(key.hash);
    if (hint == nullptr) return {};
    const uint64_t bucket = place.bucket[hint->bucket()];
    return {geometry_.SlotAddress(bucket, hint->slot()), hint->block(), hint};
  }
  void PrefetchPlace(const Key& key) const {
    mapping_ != nullptr ? hints_.Prefetch(key.hash) : cache_.Prefetch(key.hash);
  }
  void PrefetchRecalled(const Key& key) const;
  // The key's location if it is known. `*aging`: it should be remembered again when it is seen to
  // be current.
  Location Recall(const Key& key, bool* aging);
  Location RecallInPlace(const Key& key);
  // The location was current at tick `stamp`.
  void Remember(const Key& key, const Location& location, uint64_t stamp);
  void ForgetPlace(const Key& key);

  // --- in_place.cc: gets and puts on a mapping, without chains; false: the machine's turn
  struct InPlaceItem {
    GetRequest* request = nullptr;
    Key key;
    Sight sight;
    bool aging = false;
  };
  static constexpr size_t kInPlaceGroup = 16;
  // A get of the key at `hint`, whose lines were asked for. The key's hash is not looked at.
  bool GetAt(const Location& hint, const Key& key, std::span<std::byte> buffer, GetResult* result,
             Location* found);
  bool GetAnywhere(const Key& key, const Placement& place, std::span<std::byte> buffer,
                   GetResult* result, Location* found);
  bool GetSeen(const Sight& sight, const Key& key, std::span<std::byte> buffer, GetResult* result,
               bool* known);
  // Counts the chain and not its round trip. The key's hash is not looked at.
  bool PutAt(const Location& hint, const Key& key, Bytes value, uint64_t expiry,
             WriteResult* result, Location* found, LostSwing* lost);
  bool GetInPlace(const Key& key, std::span<std::byte> buffer, GetResult* result);
  void MultiGetInPlace(std::span<GetRequest> requests, std::vector<GetRequest*>* left);
  void RunGroup(std::span<InPlaceItem> group, std::vector<GetRequest*>* left);
  void LocateItem(InPlaceItem& item);
  bool FinishItem(InPlaceItem& item, bool* known);
  bool FinishUnseen(InPlaceItem& item, bool* known);
  void LookUpGroup(std::span<GetRequest> group, bool admitted, std::vector<GetRequest*>* left);
  size_t RunLearned(std::span<GetRequest> group, std::vector<GetRequest*>* left);
  size_t CountLearned(std::span<const GetRequest> group, bool* aging) const;
  bool FinishLearned(GetRequest& request, bool aging);
  bool CopyInPlace(const InPlace& in_place, uint64_t stamp, std::span<std::byte> buffer,
                   GetResult* result);
  // CopyInPlace, and what a get by itself tells and notes of the record.
  bool HandOut(const InPlace& in_place, uint64_t stamp, std::span<std::byte> buffer,
               GetResult* result, Location* found);
  void CountInPlace(uint64_t known, uint64_t cold);
  void PrefetchKnown(uint64_t slot_address, SlotWord word) const;
  void PrefetchBuckets(const Placement& place) const;
  void PrefetchOld(const Sight& sight, const Key& key) const;
  void PrefetchBlock(SlotWord word) const;
  bool PutInPlace(const Key& key, Bytes value, uint64_t expiry, WriteResult* result,
                  LostSwing* lost);
  bool PutSeen(const Sight& sight, const Key& key, Bytes value, uint64_t expiry,
               WriteResult* result, LostSwing* lost);
  struct PutItem {
    PutRequest* request;
    Key key;
    Sight sight;
  };
  void MultiPutInPlace(std::span<PutRequest> requests, std::vector<PutRequest*>* left);
  void RunPuts(std::span<PutItem> items, std::vector<PutRequest*>* left);

  // --- known_key.cc
  // For calls that know the place, and need no hash.
  static Key KeyOfLearned(const KnownKey& known) {
    const Bytes bytes = known.bytes();
    return {bytes.data(), static_cast<uint32_t>(bytes.size()), 0};
  }
  // Without the expiry, which gets find in the record and puts have no use for.
  static Location PlaceOf(const KnownKey::Where& where) {
    return {where.slot_address, SlotWord(where.word), where.version, 0};
  }
  // Known over this connection, and seen to be current lately enough.
  bool IsLearned(const KnownKey::Where& where, bool* aging) const {
    return where.owner == owner_ && cache_.Young(where.validated, env_.now, aging);
  }
  static Sight SightOf(const KnownKey::Where& where) {
    return {where.slot_address, SlotHint::BlockOf(SlotWord(where.word))};
  }
  void PrefetchLearned(const KnownKey& known) const;
  void PrefetchSlot(const KnownKey& known) const;
  void Learn(KnownKey& known, const Location& location, uint64_t stamp) const;
  void LearnFromCache(KnownKey& known);
  bool GetUnlearned(const KnownKey& known, std::span<std::byte> buffer, GetResult* result,
                    Location* found);
  bool GetByKnown(KnownKey& known, std::span<std::byte> buffer, GetResult* result);
  bool PutByKnown(KnownKey& known, Bytes value, uint64_t expiry, WriteResult* result,
                  LostSwing* lost);

  // --- batch.cc
  Operation* TakeSlot();
  Operation& WaitForSlot();
  void FreeSlot(Operation& op);
  void Finished(Operation& op);
  void WaitForBatch(uint32_t until);
  template <typename Request>
  bool PrepareOne(Operation& op, Request& request, Outcome refused, const CallOptions& options);
  template <typename Item, typename StartOne>
  void RunBatch(std::span<Item> requests, const CallOptions& options, StartOne&& start);
  Outcome Refusal(const GetRequest& request) const;
  Outcome Refusal(const PutRequest& request) const;
  Outcome Refusal(const RemoveRequest& request) const;
  void StartGet(Operation& op, std::span<std::byte> buffer);
  void StartRemove(Operation& op);
  bool EndsAtOnce(Operation& op, Outcome outcome);
  uint32_t RunCallbacks();

  // --- scan_call.cc
  static void DropOtherPasses(Operation& op, const ScanBucket& scan);
  void CopyEntries(Operation& op, const ScanBucket& scan);
  ScanCursor SkipEmpty(ScanCursor at);
  Outcome ScanOne(ScanCursor at, const ScanOptions& options, ScanCursor* next,
                  std::vector<ScanEntry>* entries);
  Outcome FetchRuns(size_t first, const ScanOptions& options, std::vector<ScanEntry>* entries);

  const SessionOrigin origin_;
  const bool read_only_;
  std::unique_ptr<SessionParts> link_;
  ForkGuard* const guard_;
  const Clock& clock_;
  TickSource ticks_;
  uint64_t* mark_ = nullptr;  // null in a read-only session, and where there is no mapping
  Geometry geometry_;
  DirectoryCopy directory_;
  Channel* channel_;          // of the link
  const std::byte* mapping_;  // of the channel; may be null
  uint64_t owner_ = 0;        // stands for the connection in KnownKeys; never 0
  LocationCache cache_;       // off where there is a mapping
  SlotHints hints_;           // off elsewhere
  SessionBlocks pool_;
  Random random_;
  Env env_;
  const SessionOptions options_;

  // Kept, as setting one up costs more than a get.
  const std::unique_ptr<InPlaceItem[]> in_place_items_ =
      std::make_unique<InPlaceItem[]>(kInPlaceGroup);
  std::vector<Operation> operations_;  // [0] serves blocking calls
  std::vector<uint32_t> free_slots_;
  std::vector<Operation*> waiting_;
  std::vector<Operation*> finished_;  // submitted ones whose callbacks are still to run
  uint32_t in_flight_ = 0;            // submitted, callback not yet run
  uint32_t batch_left_ = 0;           // of the multi-key call under way
  uint32_t posted_ = 0;               // chains with the channel
  uint32_t turn_ = 0;                 // of operations, counted
  bool new_chains_ = false;           // posted since the last poll
  std::vector<Chain*> returned_;      // while another was waited for
  std::vector<Operation*> lost_;      // at stage kLost
  std::vector<std::byte> buckets_;    // that a scan looks at ahead
  uint32_t idle_waits_ = 0;           // for chains, since one came back

  uint64_t losses_seen_ = 0;  // of the server's health, when the link was new
  Backoff reconnect_backoff_;
  int64_t reconnect_at_ = 0;
  Milliseconds reconnect_took_{0};  // the last that succeeded
  absl::Status connect_error_;      // of the last attempt
  AccessLog access_;
  Chain tick_read_;
  bool tick_read_posted_ = false;
  int64_t tick_read_at_ = 0;

  uint64_t last_tick_ = 0;
  uint64_t same_tick_calls_ = 0;
  int64_t tick_seen_at_ = 0;
  int64_t hang_up_checked_at_ = 0;
  uint32_t holds_ = 0;
  uint32_t pins_ = 0;
  uint64_t mark_tick_ = 0;
  Stats stats_;
};

Outcome OutcomeOf(Result result);

// In ticks: a location not seen to be current for so long is dropped.
uint64_t MaxLocationAge(const Geometry& g);

// Of chains that are no operation's.
inline constexpr uint64_t kTickReadCookie = uint64_t{1} << 32;
inline constexpr uint64_t kRegionReadCookie = kTickReadCookie + 1;
inline constexpr uint64_t kAccessCookie = kTickReadCookie + 2;

}  // namespace dunlin
