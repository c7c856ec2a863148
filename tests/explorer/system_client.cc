#include <charconv>
#include <cstring>
#include <new>

#include "common/base/check.h"
#include "tests/explorer/digest.h"
#include "tests/explorer/mutations.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {
namespace {

template <typename Machine>
Machine& As(Client& k) {
  return *std::launder(reinterpret_cast<Machine*>(k.storage));
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// What a value read back is; false if it is none that was ever written.
bool ParseValue(const std::byte* data, uint64_t bytes, int16_t* value) {
  const char* text = reinterpret_cast<const char*>(data);
  if (std::string_view(text, bytes) == TextOf(kLongValue)) {
    *value = kLongValue;
    return true;
  }
  auto [stop, error] = std::from_chars(text, text + bytes, *value);
  return error == std::errc() && stop == text + bytes;
}

}  // namespace

Env System::EnvOf(uint32_t c) const {
  const Client& k = world_->clients[c];
  Env env;
  env.geometry = &geometry_;
  env.directory = {directory_, 0, 0};
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
  k.past = 1;
  Log([&] { return ClientName(c) + ": begins " + std::string(NameOf(op(c).kind)) + " " +
      scenario_.keys[op(c).key].bytes + (op(c).cached ? " (cached)" : ""); });
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
  k.past = Mix(k.past, k.retries);
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
    case OpKind::kReplace: return modify(ModifyKind::kReplace);
    case OpKind::kCas: return modify(ModifyKind::kCompareAndSet);
    case OpKind::kAdd: return modify(ModifyKind::kAdd);
    case OpKind::kTouch: return modify(ModifyKind::kTouch);
    case OpKind::kRemove: return modify(ModifyKind::kRemove);
    case OpKind::kScan: return StartScan(c);
  }
}

Action System::StepMachine(uint32_t c) {
  Client& k = client(c);
  Env env = EnvOf(c);
  switch (k.machine) {
    case MachineKind::kGet: return As<Get>(k).Step(env, k.chain);
    case MachineKind::kPut: return As<Put>(k).Step(env, k.chain);
    case MachineKind::kModify: return As<Modify>(k).Step(env, k.chain);
    case MachineKind::kResolve: return As<Resolve>(k).Step(env, k.chain);
    case MachineKind::kScan: return As<ScanBucket>(k).Step(env, k.chain);
    case MachineKind::kNone: break;
  }
  DUNLIN_UNREACHABLE();
}

void System::ReturnFreed(uint32_t c) {
  Client& k = client(c);
  Freed freed;
  switch (k.machine) {
    case MachineKind::kGet: freed = As<Get>(k).TakeFreed(); break;
    case MachineKind::kPut: freed = As<Put>(k).TakeFreed(); break;
    case MachineKind::kModify: freed = As<Modify>(k).TakeFreed(); break;
    case MachineKind::kResolve: freed = As<Resolve>(k).TakeFreed(); break;
    case MachineKind::kScan:
    case MachineKind::kNone: break;
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
        return Violate("a fresh directory is asked for though the directory never changes");
      case Action::kWait:
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

Observed System::ObserveGet(uint32_t c) {
  Client& k = client(c);
  Get& get = As<Get>(k);
  Observed o{.result = get.result()};
  k.cache[op(c).key] = o.result == Result::kOk ? get.found() : Location{};
  if (o.result != Result::kOk) return o;
  if (!ParseValue(get.value(), get.value_bytes(), &o.value)) Violate("a get returns garbage");
  o.writer = WriterOf(get.version());
  o.expiry = static_cast<uint8_t>(get.expiry());
  k.last_version = get.version();
  if (o.expiry != 0 && o.expiry <= k.invoked_at) {
    Violate("a get returns a record that had expired when the get began");
  }
  return o;
}

Observed System::ObservePut(uint32_t c) {
  Client& k = client(c);
  Put& put = As<Put>(k);
  Observed o{.result = put.result()};
  bool known = (o.result == Result::kOk && !put.absorbed()) || o.result == Result::kExists;
  k.cache[op(c).key] = known ? put.found() : Location{};
  if (o.result == Result::kOk) {
    o.writer = WriterOf(put.version());
    k.last_version = put.version();
  }
  k.block = put.block();
  return o;
}

Observed System::ObserveModify(uint32_t c) {
  Client& k = client(c);
  Modify& modify = As<Modify>(k);
  Observed o{.result = modify.result()};
  bool known = o.result == Result::kOk && op(c).kind != OpKind::kRemove;
  k.cache[op(c).key] = known ? modify.found() : Location{};
  if (known) {
    o.writer = WriterOf(modify.version());
    k.last_version = modify.version();
    o.value = static_cast<int16_t>(modify.sum());
  }
  if (o.result == Result::kVersionMismatch) o.writer = WriterOf(modify.version());
  if (o.result == Result::kUnknown) o.value = static_cast<int16_t>(modify.sum());
  k.block = modify.block();
  return o;
}

void System::OnDone(uint32_t c) {
  Client& k = client(c);
  Observed observed;
  uint8_t last_writer_op = OpNumber(c, k.op);
  uint64_t last_version = k.last_version;
  switch (k.machine) {
    case MachineKind::kGet: observed = ObserveGet(c); break;
    case MachineKind::kPut: observed = ObservePut(c); break;
    default: observed = ObserveModify(c); break;
  }
  static_cast<void>(last_writer_op);
  bool in_hand = !k.block.word.empty() &&
                 world_->blocks[book_.IndexOf(k.block.word)].state != BlockState::kLost;
  if (in_hand) book_.GiveBack(c, k.block.word);
  k.block = {};
  if (observed.result == Result::kUnknown) return BeginResolve(c, observed);
  // A compare-and-set on "the version last returned" is judged by what that was when it began.
  uint64_t new_version = k.last_version;
  k.last_version = last_version;
  Respond(c, observed);
  k.last_version = new_version;
  NextOp(c);
}

void System::Respond(uint32_t c, const Observed& o) {
  Log([&] { return ClientName(c) + ": returns " + std::string(NameOf(o.result)) +
      (o.writer != 0 ? ", record of operation " + std::to_string(o.writer) : "") +
      (o.value != 0 ? ", value " + TextOf(o.value) : ""); });
  if (!violation_.empty()) return;
  bool explained = true;
  switch (o.result) {
    case Result::kOk:
    case Result::kNotFound:
    case Result::kExists:
    case Result::kVersionMismatch:
    case Result::kNotInteger:
    case Result::kOverflow:
      explained = model_.Respond(c, op(c), OpNumber(c, client(c).op), o);
      break;
    case Result::kUnavailable:
    case Result::kMemoryFull: explained = model_.Void(c); break;
    case Result::kIndexFull:
      if (!scenario_.index_may_fill) return Violate("the index is said to be full");
      explained = model_.Void(c);
      break;
    case Result::kUnknown: model_.Abandon(c); break;
    default: return Violate("an operation returns " + std::string(NameOf(o.result)));
  }
  if (!explained) Violate("the history is not linearizable");
}

void System::BeginResolve(uint32_t c, const Observed& observed) {
  Client& k = client(c);
  const KeyPlan& plan = scenario_.keys[op(c).key];
  Resolve::Lost lost;
  lost.key = {BytesOf(plan.bytes).data(), static_cast<uint32_t>(plan.bytes.size()), plan.hash};
  if (k.machine == MachineKind::kPut) {
    const Put& put = As<Put>(k);
    lost.my_version = put.version();
    lost.expected_version = put.expected().version;
    lost.may_absorb = op(c).kind == OpKind::kPut && put.expected_seen();
  } else {
    const Modify& modify = As<Modify>(k);
    lost.my_version = op(c).kind == OpKind::kRemove ? 0 : modify.version();
    lost.expected_version = modify.expected().version;
  }
  Log([&] { return ClientName(c) + ": outcome unknown; looks for version " + std::to_string(lost.my_version) +
      ", expected " + std::to_string(lost.expected_version) +
      (lost.may_absorb ? ", may absorb" : ""); });
  k.past = Mix(Mix(Mix(k.past, lost.my_version), lost.expected_version), lost.may_absorb);
  k.unknown = 1;
  k.lost_value = observed.value;
  k.lost_version = lost.my_version;
  k.chain.Clear();
  new (k.storage) Resolve(lost);
  k.machine = MachineKind::kResolve;
  if (Mutated(Mutation::kBlindRetry)) {
    ++k.retries;
    Construct(c);
  }
  Run(c);
}

void System::OnResolved(uint32_t c) {
  Client& k = client(c);
  const Resolve& resolve = As<Resolve>(k);
  Resolve::Fate fate =
      resolve.result() == Result::kOk ? resolve.fate() : Resolve::Fate::kUnknown;
  Observed observed{.result = Result::kUnknown};
  if (fate == Resolve::Fate::kDone) {
    observed = {.result = Result::kOk, .writer = WriterOf(k.lost_version), .value = k.lost_value};
  }
  if (fate == Resolve::Fate::kNotDone) {
    Log([&] { return ClientName(c) + ": resolved as not done"; });
    observed.result = Result::kUnavailable;
    if (k.retries == 0) {
      // The same call goes on with a block of the new session.
      k.retries = 1;
      k.unknown = 0;
      Construct(c);
      return Run(c);
    }
  }
  Respond(c, observed);
  NextOp(c);
}

void System::NextOp(uint32_t c) {
  Client& k = client(c);
  if (!violation_.empty()) return;
  ++k.op;
  k.phase = k.op < plan(c).ops.size() ? Phase::kIdle : Phase::kFinished;
  k.machine = MachineKind::kNone;
  k.past = 0;
  k.sampled = 0;
  k.changed = 0;
  k.retries = 0;
  k.unknown = 0;
  k.blocks_taken = 0;
  k.invoked_at = 0;
  k.lost_value = 0;
  k.lost_version = 0;
  k.scan = {};
}

// The session breaks with a chain in flight. It is fenced before the client goes on.
void System::Lose(uint32_t c) {
  Client& k = client(c);
  Log([&] { return ClientName(c) + ": LOSES its session; the rest of the chain is never executed"; });
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
