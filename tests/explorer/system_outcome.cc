#include <charconv>
#include <new>

#include "tests/explorer/digest.h"
#include "tests/explorer/machine_box.h"
#include "tests/explorer/mutations.h"
#include "tests/explorer/system.h"

namespace dunlin::explorer {
namespace {

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
  // The driver has the server split the subtable, waits, and goes on with the same block.
  if (scenario_.index_grows && k.machine == MachineKind::kPut &&
      As<Put>(k).result() == Result::kIndexFull && world_->directory.epoch < scenario_.splits) {
    As<Put>(k).TryAgain();
    ForgetPast(c);
    k.phase = Phase::kWaiting;
    return;
  }
  Observed observed;
  uint64_t last_version = k.last_version;
  switch (k.machine) {
    case MachineKind::kGet:
      observed = ObserveGet(c);
      break;
    case MachineKind::kPut:
      observed = ObservePut(c);
      break;
    default:
      observed = ObserveModify(c);
      break;
  }
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
  Log([&] {
    return ClientName(c) + ": returns " + std::string(NameOf(o.result)) +
           (o.writer != 0 ? ", record of operation " + std::to_string(o.writer) : "") +
           (o.value != 0 ? ", value " + TextOf(o.value) : "");
  });
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
    case Result::kMemoryFull:
      explained = model_.Void(c);
      break;
    case Result::kIndexFull:
      if (!scenario_.index_may_fill) return Violate("the index is said to be full");
      explained = model_.Void(c);
      break;
    case Result::kUnknown:
      model_.Abandon(c);
      break;
    default:
      return Violate("an operation returns " + std::string(NameOf(o.result)));
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
  Log([&] {
    return ClientName(c) + ": outcome unknown; looks for version " +
           std::to_string(lost.my_version) + ", expected " + std::to_string(lost.expected_version) +
           (lost.may_absorb ? ", may absorb" : "");
  });
  k.past = k.origin = Mix(Mix(Mix(2, lost.my_version), lost.expected_version), lost.may_absorb);
  k.has_sink = 0;
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
  Resolve::Fate fate = resolve.result() == Result::kOk ? resolve.fate() : Resolve::Fate::kUnknown;
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
  k.origin = 0;
  k.has_sink = k.futile = 0;
}

}  // namespace dunlin::explorer
