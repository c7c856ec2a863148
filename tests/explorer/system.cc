#include "tests/explorer/system.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "common/layout/bucket.h"
#include "common/layout/checksum.h"
#include "tests/explorer/digest.h"
#include "tests/explorer/index_view.h"

namespace dunlin::explorer {

System::System(const Scenario& scenario)
    : scenario_(scenario),
      world_(new World),
      book_(scenario, geometry_, *world_, violation_),
      model_(scenario, *world_) {
  geometry_.region_bytes = kRegionBytes;
  geometry_.slots_per_bucket = scenario.slots;
  geometry_.bucket_bytes = (1 + scenario.slots) * kWordBytes;
  geometry_.bucket_mask = kBuckets - 1;
  geometry_.heap_offset = kHeapOffset;
  geometry_.heap_bytes = uint64_t{scenario.blocks} * BlockBytes(scenario.block_class);
  geometry_.grace = scenario.grace;
  geometry_.max_key_bytes = 16;
  geometry_.max_value_bytes = 64;
  Reset();
}

void System::Reset() {
  std::memset(static_cast<void*>(world_.get()), 0, sizeof(World));
  new (world_.get()) World;
  World& w = *world_;
  std::memset(w.region, 0, sizeof w.region);
  w.tick = kStartTick;
  w.ticks_left = scenario_.ticks;
  w.deaths_left = scenario_.deaths;
  w.losses_left = scenario_.losses;
  w.relocator.left = scenario_.relocations;
  w.freezer.left = scenario_.freezes;
  w.splitter.left = scenario_.splits;
  w.sweeper.left = scenario_.sweeps;
  w.splitter.cancels_left = scenario_.cancelled_splits;
  w.directory.entries[0] = DirectoryEntry::Make(0, 0).raw();
  for (uint32_t b = 0; b < kBuckets; ++b) {
    SetPlainWord(w.region + b * geometry_.bucket_bytes, BucketHeader::Free(0, 0).raw());
  }
  uint8_t number = 1;
  for (const InitialRecord& r : scenario_.initial) {
    uint32_t index = number - 1u;
    const KeyPlan& plan = scenario_.keys[r.key];
    w.blocks[index].state = BlockState::kLinked;
    w.blocks[index].fresh = 0;
    Block block{book_.WordOf(index).WithFingerprint(FingerprintOf(plan.hash)),
                VersionOf(number, 0)};
    std::string value = TextOf(r.value);
    Key key{reinterpret_cast<const std::byte*>(plan.bytes.data()),
            static_cast<uint32_t>(plan.bytes.size()), plan.hash};
    std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(value.data()),
                                     value.size());
    std::byte* record = w.region + geometry_.RecordAddress(block.word);
    uint32_t head = ComposeHead(record, block, r.unconditional, r.expiry, key, bytes);
    std::memcpy(record + head, bytes.data(), bytes.size());
    uint64_t slot = geometry_.SlotAddress(r.bucket * geometry_.bucket_bytes, r.slot);
    SetPlainWord(w.region + slot, block.word.raw());
    w.linked_versions |= uint64_t{1} << (block.version - 1000);
    for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
      w.clients[c].cache[r.key] = {slot, block.word, block.version, r.expiry};
    }
    ++number;
  }
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    w.clients[c].directory = w.directory;
    if (scenario_.clients[c].ops.empty()) w.clients[c].phase = Phase::kFinished;
  }
  model_.Begin();
  violation_.clear();
}

// The same bytes in both directions: clients and configurations that are not there are left out.
void System::Save(World& copy) const {
  const World& w = *world_;
  std::memcpy(static_cast<void*>(&copy), &w,
              offsetof(World, clients) + scenario_.clients.size() * sizeof(Client));
  std::memcpy(static_cast<void*>(&copy.monitor), &w.monitor,
              offsetof(Monitor, configs) + w.monitor.count * sizeof(Config));
}

void System::Restore(const World& copy) {
  World& w = *world_;
  std::memcpy(static_cast<void*>(&w), &copy,
              offsetof(World, clients) + scenario_.clients.size() * sizeof(Client));
  std::memcpy(static_cast<void*>(&w.monitor), &copy.monitor,
              offsetof(Monitor, configs) + copy.monitor.count * sizeof(Config));
}

bool System::CanStart(uint32_t c) const {
  if (op(c).needs_reuse && !book_.ReuseAvailable()) return false;
  return world_->splitter.retirements >= plan(c).after_splits;
}

void System::EnumerateClient(uint32_t c, std::vector<Transition>& out) const {
  using Kind = Transition::Kind;
  const Client& k = world_->clients[c];
  const uint8_t id = static_cast<uint8_t>(c);
  switch (k.phase) {
    case Phase::kIdle:
      if (CanStart(c)) out.push_back({Kind::kStart, id});
      return;
    case Phase::kPosting:
      out.push_back({Kind::kPost, id});
      break;
    case Phase::kChain: {
      uint32_t enabled = EnabledVerbs(k);
      if (enabled == 0) out.push_back({Kind::kComplete, id});
      for (uint8_t i = 0; enabled >> i != 0; ++i) {
        if ((enabled >> i & 1) == 0) continue;
        for (uint8_t word = 0; k.remaining[i] >> word != 0; ++word) {
          if (k.remaining[i] >> word & 1) out.push_back({Kind::kWord, id, i, word});
        }
      }
      break;
    }
    case Phase::kVerifying:
      out.push_back({Kind::kVerify, id});
      break;
    case Phase::kWaiting:
      if (k.changed) out.push_back({Kind::kWake, id});
      break;
    case Phase::kNeedBlock:
      if (book_.Available() != kMaxBlocks) out.push_back({Kind::kSupply, id});
      break;
    case Phase::kAsking:
      out.push_back({Kind::kAsk, id});
      break;
    case Phase::kRefreshing:
      out.push_back({Kind::kRefresh, id});
      break;
    case Phase::kFinished:
    case Phase::kDead:
      return;
  }
  if (plan(c).may_die && world_->deaths_left != 0) out.push_back({Kind::kDie, id});
  if (plan(c).may_lose && world_->losses_left != 0 && k.phase == Phase::kChain) {
    out.push_back({Kind::kLose, id});
  }
}

void System::Enumerate(std::vector<Transition>& out) const {
  out.clear();
  uint32_t running = 0;
  bool ticks = true;
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    EnumerateClient(c, out);
    ticks = ticks && !HoldsUpReuse(world_->clients[c]);
    Phase phase = world_->clients[c].phase;
    running += phase != Phase::kFinished && phase != Phase::kDead;
  }
  const size_t from_clients = out.size();
  EnumerateServer(out);
  const bool sweeping = world_->sweeper.phase != SweeperState::kRest;
  if (running != 0 && world_->ticks_left != 0 && ticks) {
    out.push_back({Transition::Kind::kTick});
  } else if (sweeping && out.empty()) {
    out.push_back({Transition::Kind::kTick});
  }
  // With nobody else about, the order of one client's steps makes no difference.
  bool alone = running == 1 && out.size() == from_clients && world_->relocator.left == 0 &&
               world_->freezer.left == 0 && world_->splitter.left == 0 &&
               world_->splitter.active == 0 && world_->sweeper.left == 0;
  bool faults = world_->deaths_left != 0 || world_->losses_left != 0;
  if (alone && !faults && out.size() > 1) out.resize(1);
}

void System::Apply(const Transition& t) {
  using Kind = Transition::Kind;
  Client& k = client(t.client);
  switch (t.kind) {
    case Kind::kStart:
      return Start(t.client);
    case Kind::kPost:
      if (Post(t.client)) Complete(t.client);
      return;
    case Kind::kWord:
      DoWord(t.client, t.verb, t.word);
      if (RunEager(t.client)) Complete(t.client);
      return;
    case Kind::kComplete:
      return Complete(t.client);
    case Kind::kRefresh:
      return Refresh(t.client);
    case Kind::kWake:
      k.changed = 0;
      [[fallthrough]];
    case Kind::kVerify:
      k.now = Clock(t.client);
      k.past = Mix(k.past, k.now);
      return Run(t.client);
    case Kind::kSupply:
      SupplyBlock(t.client);
      return Run(t.client);
    case Kind::kAsk:
      return Ask(t.client);
    case Kind::kDie:
      return Die(t.client);
    case Kind::kLose:
      return Lose(t.client);
    case Kind::kTick:
      return Tick();
    case Kind::kRecover:
      return Recover(t.verb);
    case Kind::kRelocateRead:
      return RelocateRead(uint64_t{t.verb} * kWordBytes);
    case Kind::kRelocateSwing:
      return RelocateSwing();
    case Kind::kFreeze:
      return FreezerStep();
    case Kind::kSplit:
      return SplitStep();
    case Kind::kCancelSplit:
      return CancelSplit();
    case Kind::kSweep:
      return SweepStep();
  }
}

bool System::HoldsKey(SlotWord word, uint32_t key) const {
  const std::byte* record = book_.RecordAt(word);
  RecordHeader header(PlainWord(record));
  const std::string& bytes = scenario_.keys[key].bytes;
  return header.key_bytes() == bytes.size() &&
         std::memcmp(record + header.key_offset(), bytes.data(), bytes.size()) == 0;
}

void System::CheckAtRest() {
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    const Client& k = world_->clients[c];
    bool may_stay = k.phase == Phase::kFinished || k.phase == Phase::kDead ||
                    k.phase == Phase::kNeedBlock || (k.phase == Phase::kIdle && !CanStart(c));
    if (k.phase == Phase::kWaiting && !scenario_.recovery) may_stay = true;
    if (!may_stay) return Violate(ClientName(c) + " waits for ever");
    if (k.phase == Phase::kNeedBlock || k.phase == Phase::kWaiting) return;
  }
  CheckHeaders();
  ModelKey keys[kMaxKeys] = {};
  ForEachSlot(*world_, geometry_, [&](uint64_t address, SlotWord word) {
    if (!word.live()) return;
    for (uint32_t key = 0; key < scenario_.keys.size(); ++key) {
      if (!HoldsKey(word, key)) continue;
      if (keys[key].writer != 0) Violate("a key is in two slots");
      if (!LeadsTo(scenario_.keys[key].hash, address)) Violate("a key is where no reader looks");
      keys[key] = RecordFor(word);
    }
  });
  book_.CheckAtRest();
  if (violation_.empty() && !model_.AtRest(keys)) {
    Violate("what is in memory at the end is not what the history left there");
  }
}

// What the map holds, by a record.
ModelKey System::RecordFor(SlotWord word) const {
  const std::byte* record = book_.RecordAt(word);
  RecordHeader h(PlainWord(record));
  ModelKey key;
  key.writer = WriterOf(PlainWord(record + 8));
  key.expiry = h.expires() ? static_cast<uint8_t>(PlainWord(record + kRecordPrefixBytes)) : 0;
  std::string_view text(reinterpret_cast<const char*>(record) + h.value_offset(), h.value_bytes());
  key.value = text == TextOf(kLongValue)
                  ? kLongValue
                  : static_cast<int16_t>(std::atoi(std::string(text).c_str()));
  return key;
}

// Whether the directory sends readers of that hash to the slot.
bool System::LeadsTo(uint64_t hash, uint64_t slot_address) const {
  const Placement place = Place(geometry_, world_->directory.view(), hash);
  return std::any_of(std::begin(place.bucket), std::end(place.bucket), [&](uint64_t bucket) {
    return slot_address > bucket && slot_address < bucket + geometry_.bucket_bytes;
  });
}

// No lock is left; who lives in a subtable that the directory names is somebody, and nobody in one
// that was never used or is retired.
void System::CheckHeaders() {
  for (uint32_t i = 0; i < SubtablesUsed() * kBuckets; ++i) {
    const uint64_t bucket = BucketAddress(i);
    const BucketHeader header(WordAt(bucket));
    if (header.held() && (scenario_.recovery || SessionLives(header.owner()))) {
      Violate("the lock of " + AddressName(bucket) + " is left");
    }
    const bool published = IsPublished(world_->directory, bucket);
    if (published != header.formatted())
      Violate("the identity of " + AddressName(bucket) + " is wrong");
    for (uint32_t s = 0; s < scenario_.slots && !published; ++s) {
      const SlotWord word(WordAt(geometry_.SlotAddress(bucket, s)));
      if (!word.empty() && !word.moved()) Violate("a slot of a subtable out of use is in use");
    }
  }
}

uint64_t System::Digest() const {
  const World& w = *world_;
  std::byte buffer[sizeof(World)];
  size_t n = 0;
  auto add = [&](const void* data, size_t bytes) {
    std::memcpy(buffer + n, data, bytes);
    n += bytes;
  };
  for (uint32_t i = 0; i < SubtablesUsed(); ++i) {
    add(w.region + SubtableAddress(i), geometry_.SubtableBytes());
  }
  add(w.region + kHeapOffset, scenario_.blocks * BlockBytes(scenario_.block_class));
  const uint8_t small[4] = {w.tick, w.ticks_left, w.deaths_left, w.losses_left};
  add(small, sizeof small);
  add(&w.linked_versions, 8);
  add(w.blocks, scenario_.blocks * sizeof(BlockTruth));
  const uint64_t relocator[5] = {
      w.freezer.left * 256u + w.freezer.step, w.relocator.busy * 256u + w.relocator.left,
      w.relocator.slot_address, w.relocator.from.raw(), w.relocator.to.raw()};
  add(relocator, sizeof relocator);
  if (scenario_.splits != 0) {
    const SplitterState& s = w.splitter;
    const uint8_t flags[8] = {
        s.left,         s.active,      s.waiting,    s.publishes,
        s.cancels_left, s.retirements, s.retired_at, static_cast<uint8_t>(w.directory.epoch)};
    add(flags, sizeof flags);
    const uint64_t position = s.machine.position();
    add(&position, sizeof position);
  }
  if (scenario_.sweeps != 0) {
    const SweeperState& s = w.sweeper;
    const uint16_t numbers[8] = {s.left, s.phase,    s.position, s.width,
                                 s.slot, s.ended_at, s.suspects, s.acquitted};
    add(numbers, sizeof numbers);
    add(&s.subtable, sizeof s.subtable);
    add(s.generation, scenario_.blocks * sizeof s.generation[0]);
  }
  add(&w.monitor.count, sizeof w.monitor.count);
  add(w.monitor.configs, w.monitor.count * sizeof(Config));
  for (uint32_t c = 0; c < scenario_.clients.size(); ++c) {
    const Client& k = w.clients[c];
    const uint8_t state[13] = {static_cast<uint8_t>(k.phase),
                               static_cast<uint8_t>(k.machine),
                               k.op,
                               k.session,
                               k.blocks_taken,
                               k.changed,
                               k.retries,
                               k.unknown,
                               k.invoked_at,
                               static_cast<uint8_t>(k.lost_value),
                               k.has_sink,
                               k.futile,
                               static_cast<uint8_t>(k.directory.epoch)};
    add(state, sizeof state);
    add(&k.past, 8);
    add(&k.last_version, 8);
    if (k.machine == MachineKind::kScan) add(&k.scan, sizeof k.scan);
    add(k.cache, scenario_.keys.size() * sizeof(Location));
    if (k.phase == Phase::kVerifying || k.phase == Phase::kPosting) add(&k.now, 8);
    if (k.phase != Phase::kChain) continue;
    add(&k.posted, 8);
    add(&k.sampled, 8);
    add(k.remaining, sizeof k.remaining);
  }
  return DigestOf(buffer, n);
}

}  // namespace dunlin::explorer
