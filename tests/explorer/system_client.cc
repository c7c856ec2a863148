#include <cstring>
#include <new>

#include "common/base/check.h"
#include "tests/explorer/digest.h"
#include "tests/explorer/machine_box.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {
Env System::EnvOf(uint32_t c) const {
  const Client& k = world_->clients[c];
  Env env;
  env.geometry = &geometry_;
  env.directory = k.directory.view();
  env.now = k.now;
  env.posted = k.posted;
  env.session = SessionOf(c);
  env.operation = c * kOpsPerClient + k.op;
  env.scratch_bytes = kScratchBytes;
  env.references = scenario_.references;
  env.can_write = plan(c).can_write;
  env.max_attempts = scenario_.max_attempts;
  return env;
}

void System::Start(uint32_t c) {
  Client& k = client(c);
  model_.Invoke(c);
  k.invoked_at = static_cast<uint8_t>(Clock(c));
  k.blocks_taken = 0;
  k.retries = 0;
  k.unknown = 0;
  Log([&] {
    return ClientName(c) + ": begins " + std::string(NameOf(op(c).kind)) + " " +
           scenario_.keys[op(c).key].bytes + (op(c).cached ? " (cached)" : "");
  });
  if (plan(c).fresh_directory) k.directory = world_->directory;
  Construct(c);
  k.now = Clock(c);
  Run(c);
}

void System::Construct(uint32_t c) {
  Client& k = client(c);
  const Op& o = op(c);
  const KeyPlan& plan = scenario_.keys[o.key];
  Key key{BytesOf(plan.bytes).data(), static_cast<uint32_t>(plan.bytes.size()), plan.hash};
  Location hint = o.cached && k.retries == 0 ? k.cache[o.key] : Location{};
  k.block = {};
  k.has_sink = 0;
  k.past = k.origin = Mix(1, k.retries);
  std::memset(k.scratch, 0, sizeof k.scratch);
  std::memset(k.sink, 0, sizeof k.sink);
  k.chain = {};
  k.chain.scratch = k.scratch;
  auto modify = [&](ModifyKind kind) {
    Modify::Request request;
    request.kind = kind;
    request.key = key;
    request.value = BytesOf(o.text);
    request.expiry = o.expiry;
    request.expected_version = o.expected != 0 ? VersionOf(o.expected, 0) : k.last_version;
    request.delta = o.value;
    new (k.storage) Modify(request, hint);
    k.machine = MachineKind::kModify;
  };
  switch (o.kind) {
    case OpKind::kGet:
      new (k.storage) Get(key, GetMode::kCopy, hint);
      k.machine = MachineKind::kGet;
      return;
    case OpKind::kPut:
    case OpKind::kIfAbsent:
      new (k.storage) Put(o.kind == OpKind::kPut ? Put::Mode::kAlways : Put::Mode::kIfAbsent, key,
                          BytesOf(o.text), o.expiry, hint);
      k.machine = MachineKind::kPut;
      return;
    case OpKind::kReplace:
      return modify(ModifyKind::kReplace);
    case OpKind::kCas:
      return modify(ModifyKind::kCompareAndSet);
    case OpKind::kAdd:
      return modify(ModifyKind::kAdd);
    case OpKind::kTouch:
      return modify(ModifyKind::kTouch);
    case OpKind::kRemove:
      return modify(ModifyKind::kRemove);
    case OpKind::kScan:
      return StartScan(c);
  }
}

Action System::StepMachine(uint32_t c) {
  Client& k = client(c);
  Env env = EnvOf(c);
  switch (k.machine) {
    case MachineKind::kGet:
      return As<Get>(k).Step(env, k.chain);
    case MachineKind::kPut:
      return As<Put>(k).Step(env, k.chain);
    case MachineKind::kModify:
      return As<Modify>(k).Step(env, k.chain);
    case MachineKind::kResolve:
      return As<Resolve>(k).Step(env, k.chain);
    case MachineKind::kScan:
      return As<ScanBucket>(k).Step(env, k.chain);
    case MachineKind::kNone:
      break;
  }
  DUNLIN_UNREACHABLE();
}

void System::ReturnFreed(uint32_t c) {
  Client& k = client(c);
  Freed freed;
  switch (k.machine) {
    case MachineKind::kGet:
      freed = As<Get>(k).TakeFreed();
      break;
    case MachineKind::kPut:
      freed = As<Put>(k).TakeFreed();
      break;
    case MachineKind::kModify:
      freed = As<Modify>(k).TakeFreed();
      break;
    case MachineKind::kResolve:
      freed = As<Resolve>(k).TakeFreed();
      break;
    case MachineKind::kScan:
    case MachineKind::kNone:
      break;
  }
  if (!freed.word.empty()) book_.Return(c, freed.word);
}

void System::SupplyBlock(uint32_t c) {
  Client& k = client(c);
  Block block;
  block.word = book_.Take(c);
  block.version = VersionOf(OpNumber(c, k.op), k.blocks_taken);
  DUNLIN_CHECK(k.blocks_taken < 4, "an operation asked for more blocks than versions tell apart");
  ++k.blocks_taken;
  if (!k.block.word.empty()) book_.GiveBack(c, k.block.word);
  k.block = block;
  k.past = Mix(Mix(k.past, block.word.raw()), block.version);
  if (k.machine == MachineKind::kPut) As<Put>(k).SupplyBlock(block);
  if (k.machine == MachineKind::kModify) As<Modify>(k).SupplyBlock(block);
}

void System::FailBlock(uint32_t c) {
  Client& k = client(c);
  if (k.machine == MachineKind::kPut) As<Put>(k).Fail(Result::kMemoryFull);
  if (k.machine == MachineKind::kModify) As<Modify>(k).Fail(Result::kMemoryFull);
}

// Steps the client's machine until it waits for something that others can tell from outside.
void System::Run(uint32_t c) {
  Client& k = client(c);
  for (uint32_t steps = 0; violation_.empty(); ++steps) {
    if (steps > 200) return Violate("a machine steps on and on without posting");
    // What is read by reference is read now. The bytes that one step looks at are not torn here.
    if (scenario_.references) k.past = Mix(k.past, DigestOf(world_->region, kRegionBytes));
    Action action = StepMachine(c);
    ReturnFreed(c);
    switch (action) {
      case Action::kPost:
        if (ClockMoves()) {
          k.phase = Phase::kPosting;
          return;
        }
        if (!Post(c)) return;
        return Complete(c);
      case Action::kVerify:
        if (ClockMoves()) {
          k.phase = Phase::kVerifying;
          return;
        }
        k.now = Clock(c);
        break;
      case Action::kNeedSink:
        k.has_sink = 1;
        if (k.machine == MachineKind::kGet) As<Get>(k).SupplySink(k.sink, kSinkBytes);
        if (k.machine == MachineKind::kModify) As<Modify>(k).SupplySink(k.sink, kSinkBytes);
        if (k.machine == MachineKind::kScan) {
          CollectScan(c);
          // The machine checks the age of what was copied by the clock after the copying.
          if (ClockMoves()) {
            k.phase = Phase::kVerifying;
            return;
          }
        }
        break;
      case Action::kNeedBlock:
        if (book_.Available() == kMaxBlocks) {
          if (scenario_.reuse) {
            k.phase = Phase::kNeedBlock;
            return;
          }
          FailBlock(c);
        } else {
          SupplyBlock(c);
        }
        break;
      case Action::kRefresh:
        if (scenario_.splits == 0) {
          return Violate("a fresh directory is asked for though the directory never changes");
        }
        ForgetPast(c);
        k.phase = Phase::kRefreshing;
        return;
      case Action::kWait:
        ForgetPast(c);
        k.phase = Phase::kWaiting;
        return;
      case Action::kAskExpire:
        k.phase = Phase::kAsking;
        return;
      case Action::kDone:
        if (k.machine == MachineKind::kScan) return OnScanned(c);
        return k.machine == MachineKind::kResolve ? OnResolved(c) : OnDone(c);
    }
  }
}

// A machine that waits begins its search again afterwards. What it was told before makes no
// difference any more, but for what is mixed in here; so states that differ in it are merged.
void System::ForgetPast(uint32_t c) {
  Client& k = client(c);
  // It may or may not have its sink still, which decides whether it reads the clock once more.
  if (k.machine == MachineKind::kModify && op(c).kind == OpKind::kTouch && scenario_.ticks != 0) {
    return;
  }
  uint64_t past = k.origin;
  const auto add_block = [&](const Block& block) {
    past = Mix(Mix(past, block.word.raw()), block.version);
  };
  if (k.machine == MachineKind::kPut) {
    const Put& put = As<Put>(k);
    add_block(put.block());
    past = Mix(Mix(past, put.version()), put.expected_seen());
    past = Mix(Mix(past, put.expected().word.raw()), put.expected().version);
  }
  if (k.machine == MachineKind::kModify) {
    const Modify& modify = As<Modify>(k);
    add_block(modify.block());
    past = Mix(Mix(past, modify.version()), modify.expected().version);
  }
  if (k.machine == MachineKind::kScan) {
    k.scan.pass = 0;
    k.scan.found_here = 0;
    k.scan.keys_here = 0;
  }
  k.past = past;
  k.sampled = 0;
}

// Copies the directory that is published. The driver then waits a little, which may be no time at
// all; but to look for one again and again while nothing changes is no way on.
void System::Refresh(uint32_t c) {
  Client& k = client(c);
  const bool fresh = k.directory.epoch != world_->directory.epoch;
  k.directory = world_->directory;
  Log([&] {
    return ClientName(c) + ": reads the directory, epoch " + std::to_string(k.directory.epoch);
  });
  if (!fresh && k.futile != 0 && k.changed == 0) {
    k.phase = Phase::kWaiting;
    return;
  }
  k.futile = !fresh;
  k.changed = 0;
  k.now = Clock(c);
  k.past = Mix(k.past, k.now);
  Run(c);
}

// The session breaks with a chain in flight. It is fenced before the client goes on.
void System::Lose(uint32_t c) {
  Client& k = client(c);
  Log([&] {
    return ClientName(c) + ": LOSES its session; the rest of the chain is never executed";
  });
  --world_->losses_left;
  book_.Orphan(c);
  ++k.session;
  std::memset(k.remaining, 0, sizeof k.remaining);
  k.sampled = 0;
  k.chain.outcome = ChainOutcome::kUnknown;
  k.now = Clock(c);
  k.past = Mix(k.past, 0x105E);
  Run(c);
}

void System::Die(uint32_t c) {
  Client& k = client(c);
  Log([&] { return ClientName(c) + ": DIES"; });
  --world_->deaths_left;
  book_.Orphan(c);
  model_.Abandon(c);
  k.phase = Phase::kDead;
  k.machine = MachineKind::kNone;
  k.past = 0;
  k.sampled = 0;
  k.changed = 0;
  k.retries = k.unknown = k.blocks_taken = k.invoked_at = 0;
  k.last_version = 0;
  k.origin = 0;
  k.has_sink = k.futile = 0;
  k.directory = {};
  k.scan = {};
  std::memset(k.remaining, 0, sizeof k.remaining);
  for (Location& location : k.cache) location = {};
}

// The server expires a record for a session that can't write.
void System::Ask(uint32_t c) {
  Client& k = client(c);
  const Location& at = k.machine == MachineKind::kResolve ? As<Resolve>(k).expire_request()
                       : k.machine == MachineKind::kGet   ? As<Get>(k).expire_request()
                                                          : As<Modify>(k).expire_request();
  if (at.expiry != 0 && at.expiry <= world_->tick && !at.word.frozen()) {
    if (CompareSwap(c, at.slot_address, at.word.raw(), 0) == at.word.raw()) {
      book_.Return(c, at.word);
      Log([&] { return "server: expires " + WordName(at.slot_address, at.word.raw()); });
    }
  }
  k.now = Clock(c);
  Run(c);
}

}  // namespace dunlin::explorer
