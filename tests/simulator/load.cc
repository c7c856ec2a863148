#include "tests/simulator/load.h"

#include <charconv>
#include <deque>
#include <utility>

#include "client/session/make_session.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "tests/simulator/contents.h"

namespace dunlin::simulator {
namespace {

using linearizability::Value;

constexpr Milliseconds kDeadline{1000};
// Beyond a call's own deadline: what a call may take to end a connection, and the network's delays.
constexpr int64_t kOverrun = 500 * kMillisecond;
constexpr uint64_t kBand = 64;
constexpr uint64_t kPhaseOperations = 400;
constexpr int64_t kNanosPerMs = kMillisecond;

bool IsInteger(const Faults& faults, uint32_t key) { return key >= faults.keys; }

Value ValueOf(const Faults& faults, uint32_t key, const std::string& bytes) {
  if (!IsInteger(faults, key)) return Value::Opaque(ValueNumber(AsBytes(bytes)));
  int64_t number = 0;
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
  return Value::Integer(number);
}

}  // namespace

Load::Load(LoadShared* shared, Process* process)
    : shared_(*shared),
      world_(*shared->world),
      faults_(*shared->faults),
      process_(*process),
      guard_(ForkGuard::Create().value()) {
  opener_ = MakeRemoteOpener(
      [this](Deadline deadline) { return shared_.connect(&process_, deadline); }, guard_);
}

bool Load::Open() {
  while (!process_.dead()) {
    SessionOrigin origin;
    origin.opener = opener_;
    origin.health = health_;
    origin.request.name = "client " + std::to_string(process_.number());
    origin.clock = &process_;
    SessionOptions options;
    options.default_deadline = kDeadline;
    options.location_cache_bytes = faults_.cache_bytes;
    const Opener::Request request = origin.request;
    auto parts = opener_->OpenSession(request, Deadline::After(kDeadline, process_));
    if (parts.ok()) {
      auto session = MakeSession(std::move(origin), *std::move(parts), options);
      if (session.ok()) {
        session_ = *std::move(session);
        return true;
      }
    }
    process_.Pause(20 * kMillisecond);
  }
  return false;
}

void Load::Close() {
  if (session_ == nullptr) return;
  const Stats stats = session_->stats();
  shared_.reconnects += stats.reconnects;
  shared_.resolved += stats.resolved;
  shared_.absorbed += stats.absorbed;
  session_.reset();
}

void Load::Run() {
  if (!Open()) return;
  while (!process_.dead() && shared_.operations_left > 0) {
    OneCall();
    process_.Pause(
        1 + static_cast<int64_t>(world_.random().Below(2 * static_cast<uint64_t>(faults_.think))));
    // Now and then a session ends in order and another one begins.
    if (!world_.random().OneIn(300)) continue;
    Close();
    if (!Open()) break;
  }
  Close();
}

void Load::ReadAll() {
  if (!Open()) return;
  for (uint32_t key = 0; key < faults_.keys + kIntegerKeys; ++key) {
    do {
      CallGet(key);
    } while (AnswerOf(shared_.history->calls().back().outcome) == Answer::kNoEffect);
  }
  Close();
}

uint64_t Load::Phase() const { return shared_.operations_left / kPhaseOperations; }

uint32_t Load::SomeKey() {
  Random& random = world_.random();
  if (random.Below(100) < faults_.hot_percent) return static_cast<uint32_t>(random.Below(3));
  return static_cast<uint32_t>(random.Below(faults_.keys));
}

std::string Load::SomeValue(uint32_t key) {
  Random& random = world_.random();
  // Other lengths at other times, which leaves slabs of the old ones sparse.
  uint64_t bytes =
      Phase() % 2 == 0 ? random.Below(200) : kBand * (Phase() % 7) + random.Below(kBand);
  if (random.Below(100) < faults_.large_percent) bytes = random.Below(faults_.largest_value);
  return ComposeValue(key, shared_.next_value++, bytes);
}

std::optional<Milliseconds> Load::SomeTtl() {
  Random& random = world_.random();
  if (random.Below(100) >= faults_.ttl_percent) return std::nullopt;
  return Milliseconds(1 + random.Below(random.OneIn(3) ? 2000 : 50));
}

// Mostly the current one.
uint64_t Load::SomeVersion(uint32_t key) {
  return world_.random().OneIn(8) ? 1 + world_.random().Below(1000) : shared_.last_versions[key];
}

Operation Load::Invoke(Kind kind) {
  Operation operation;
  operation.kind = kind;
  operation.client = process_.number();
  operation.invoked = world_.now();
  if (shared_.operations_left > 0) --shared_.operations_left;
  return operation;
}

void Load::Finish(size_t call, Outcome outcome, uint64_t version) {
  History::Call& c = shared_.history->at(call);
  c.outcome = outcome;
  c.operation.answer = AnswerOf(outcome);
  c.operation.responded = world_.now();
  if (version != 0) {
    c.operation.version = version;
    shared_.last_versions[c.key] = version;
  }
  world_.Note(Happening::kAnswer, process_.number(), c.key, static_cast<uint64_t>(outcome));
  // A stopped process can't end a call.
  const int64_t took = c.operation.responded - c.operation.invoked - (process_.held() - c.held);
  const int64_t bound = kDeadline.count() * kNanosPerMs + kOverrun + 4 * faults_.longest_delay;
  if (took > bound && !c.many) {
    shared_.history->AddFault("a call with a deadline of 1 s took " +
                              std::to_string(took / kNanosPerMs) +
                              " ms: " + linearizability::Describe(c.operation));
  }
  if (outcome == Outcome::kInternal || outcome == Outcome::kDataLoss ||
      outcome == Outcome::kInvalidArgument || outcome == Outcome::kForked ||
      outcome == Outcome::kPermissionDenied) {
    shared_.history->AddFault("key " + std::to_string(c.key) + ": a call answered " +
                              std::string(OutcomeName(outcome)));
  }
}

void Load::Answered(size_t call, const GetResult& result, const std::string* value) {
  if (process_.dead()) return;
  History::Call& c = shared_.history->at(call);
  if (result.ok()) {
    c.operation.ttl_left_seen = true;
    if (result.ttl_left.has_value()) {
      c.operation.ttl_left = result.ttl_left->count() * kNanosPerMs;
    }
  }
  if (result.ok() && value != nullptr) {
    if (!IsInteger(faults_, c.key)) {
      if (std::string why = WhyNotOf(c.key, AsBytes(*value)); !why.empty()) {
        shared_.history->AddFault("a get of key " + std::to_string(c.key) + " returned " + why);
      }
    }
    c.operation.value = ValueOf(faults_, c.key, *value);
  }
  Finish(call, result.outcome, result.ok() ? result.version : 0);
}

void Load::Answered(size_t call, const WriteResult& result) {
  if (process_.dead()) return;
  shared_.history->at(call).operation.sum = result.sum;
  Finish(call, result.outcome, result.version);
}

void Load::OneCall() {
  const uint32_t key = SomeKey();
  world_.Note(Happening::kCall, process_.number(), key);
  // Now and then more is removed than put.
  if (Phase() % 4 == 3 && world_.random().OneIn(3)) return CallRemove(key);
  const uint64_t drawn = world_.random().Below(100);
  if (drawn < 25) return CallGet(key);
  if (drawn < 30) return CallGetInto(key);
  if (drawn < 32) return CallHead(key);
  if (drawn < 52) return CallPut(key, PutMode::kAlways);
  if (drawn < 58) return CallPut(key, PutMode::kIfAbsent);
  if (drawn < 62) return CallPut(key, PutMode::kIfPresent);
  if (drawn < 70) return CallRemove(key);
  if (drawn < 76) return CallCompareAndSet(key);
  if (drawn < 80) return CallTouch(key);
  if (drawn < 88) return CallInteger();
  if (drawn < 92) return CallMany();
  if (drawn < 97) return CallSubmit();
  if (drawn < 99) return CallAdd(key);
  CallScan();
}

void Load::CallGet(uint32_t key) {
  const std::string name = KeyName(key);
  const size_t call = shared_.history->Begin(key, Invoke(Kind::kGet), process_.held());
  std::string value;
  const GetResult result = session_->GetString(AsBytes(name), &value);
  Answered(call, result, &value);
}

// Into a buffer that may be too small.
void Load::CallGetInto(uint32_t key) {
  const std::string name = KeyName(key);
  const size_t call = shared_.history->Begin(key, Invoke(Kind::kGet), process_.held());
  std::string buffer(world_.random().Below(400), ' ');
  const GetResult result =
      session_->GetInto(AsBytes(name), std::as_writable_bytes(std::span(buffer)));
  if (result.ok()) buffer.resize(result.value_bytes);
  Answered(call, result, &buffer);
}

void Load::CallHead(uint32_t key) {
  const std::string name = KeyName(key);
  const size_t call = shared_.history->Begin(key, Invoke(Kind::kGet), process_.held());
  Answered(call, session_->Head(AsBytes(name)), nullptr);
}

void Load::CallPut(uint32_t key, PutMode mode) {
  const std::string name = KeyName(key);
  const std::string value =
      IsInteger(faults_, key) ? std::to_string(world_.random().Below(1000)) : SomeValue(key);
  Operation operation = Invoke(mode == PutMode::kAlways     ? Kind::kPut
                               : mode == PutMode::kIfAbsent ? Kind::kPutIfAbsent
                                                            : Kind::kReplace);
  PutOptions options;
  options.mode = mode;
  options.ttl = SomeTtl();
  operation.value = ValueOf(faults_, key, value);
  if (options.ttl.has_value()) operation.ttl = options.ttl->count() * kNanosPerMs;
  const size_t call = shared_.history->Begin(key, operation, process_.held());
  Answered(call, session_->PutBytes(AsBytes(name), AsBytes(value), options));
}

void Load::CallRemove(uint32_t key) {
  const std::string name = KeyName(key);
  const size_t call = shared_.history->Begin(key, Invoke(Kind::kRemove), process_.held());
  Answered(call, session_->RemoveBytes(AsBytes(name)));
}

void Load::CallCompareAndSet(uint32_t key) {
  const std::string name = KeyName(key);
  const std::string value = SomeValue(key);
  const uint64_t expected = SomeVersion(key);
  if (expected == 0) return;
  Operation operation = Invoke(Kind::kCompareAndSet);
  operation.expected = expected;
  operation.value = ValueOf(faults_, key, value);
  PutOptions options;
  options.ttl = SomeTtl();
  if (options.ttl.has_value()) operation.ttl = options.ttl->count() * kNanosPerMs;
  const size_t call = shared_.history->Begin(key, operation, process_.held());
  Answered(call, session_->CompareAndSet(AsBytes(name), expected, AsBytes(value), options));
}

void Load::CallAdd(uint32_t key) {
  const std::string name = KeyName(key);
  Operation operation = Invoke(Kind::kAdd);
  AddOptions options;
  operation.delta = static_cast<int64_t>(world_.random().Below(100)) - 50;
  if (IsInteger(faults_, key) && world_.random().OneIn(2)) options.initial = 7;
  operation.initial = options.initial;
  const size_t call = shared_.history->Begin(key, operation, process_.held());
  // Several calls in one, each with its own deadline.
  shared_.history->at(call).many = true;
  Answered(call, session_->Add(AsBytes(name), operation.delta, options));
}

void Load::CallInteger() {
  const auto key = static_cast<uint32_t>(faults_.keys + world_.random().Below(kIntegerKeys));
  const uint64_t drawn = world_.random().Below(10);
  if (drawn < 5) return CallAdd(key);
  if (drawn < 8) return CallGet(key);
  if (drawn < 9) return CallPut(key, PutMode::kAlways);
  CallRemove(key);
}

void Load::CallTouch(uint32_t key) {
  const std::string name = KeyName(key);
  Operation operation = Invoke(Kind::kTouch);
  const std::optional<Milliseconds> ttl = SomeTtl();
  if (ttl.has_value()) operation.ttl = ttl->count() * kNanosPerMs;
  const size_t call = shared_.history->Begin(key, operation, process_.held());
  Answered(call, session_->Touch(AsBytes(name), ttl));
}

}  // namespace dunlin::simulator
