#include "tests/linearizability/workload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/support/answer_of.h"
#include "tests/support/stamped_value.h"

namespace dunlin::testing {
namespace {

using linearizability::Answer;
using linearizability::Kind;
using linearizability::Operation;
using linearizability::Value;

constexpr uint32_t kKeysOfACall = 6;
constexpr size_t kSubmitted = 4;
constexpr size_t kBufferBytes = 64 << 10;

// What is done to a key, by its number.
enum class Habit : uint32_t { kAnything, kCounter, kShortLived, kPutAndGet, kConditional, kHabits };

Habit HabitOf(uint32_t key) {
  return static_cast<Habit>(key % static_cast<uint32_t>(Habit::kHabits));
}

// What nobody wrote; the checker finds it in no write.
constexpr uint64_t kDamaged = ~uint64_t{0};

Value ParseValue(std::string_view key, std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return Value::Integer(number);
  return Value::Opaque(StampOf(key, text).value_or(kDamaged));
}

constexpr int64_t kNanosOfAMilli = 1'000'000;

std::optional<Milliseconds> InMillis(const std::optional<int64_t>& nanos) {
  if (!nanos.has_value()) return std::nullopt;
  return Milliseconds(*nanos / kNanosOfAMilli);
}

PutOptions OptionsOf(const Operation& operation) {
  PutOptions options;
  if (operation.kind == Kind::kPutIfAbsent) options.mode = PutMode::kIfAbsent;
  if (operation.kind == Kind::kReplace) options.mode = PutMode::kIfPresent;
  options.ttl = InMillis(operation.ttl);
  return options;
}

// Nanoseconds that this thread could have run and did not; 0 if the kernel doesn't say.
int64_t Unscheduled(int schedule) {
  char text[64] = {};
  if (pread(schedule, text, sizeof text - 1, 0) <= 0) return 0;
  char* second = nullptr;
  std::strtoll(text, &second, 10);
  return std::strtoll(second, nullptr, 10);
}

}  // namespace

struct Workload::InFlight {
  uint32_t key = 0;
  uint64_t entry = 0;
  Operation operation;
  std::string name;
  std::string value;
  std::vector<std::byte> buffer;
  bool done = false;
};

Workload::Workload(const WorkloadPlan& plan, Session& blocking, Session& submitting,
                   Recording& recording)
    : plan_(plan),
      random_(plan.seed),
      blocking_(blocking),
      submitting_(submitting),
      recording_(recording),
      last_version_(plan.hot_keys + plan.spread_keys, 0),
      schedule_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

Workload::~Workload() { submitting_.Drain(); }

std::string Workload::KeyName(uint32_t key) const { return plan_.prefix + std::to_string(key); }

uint32_t Workload::PickKey() {
  if (random_.OneIn(2)) return static_cast<uint32_t>(random_.Below(plan_.hot_keys));
  return static_cast<uint32_t>(random_.Below(plan_.hot_keys + plan_.spread_keys));
}

std::vector<uint32_t> Workload::PickKeys() {
  std::vector<uint32_t> keys;
  const uint64_t count = random_.Between(2, kKeysOfACall);
  while (keys.size() < count) {
    const uint32_t key = PickKey();
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

std::optional<int64_t> Workload::PickTtl(uint32_t key) {
  if (HabitOf(key) != Habit::kShortLived || random_.OneIn(4)) return std::nullopt;
  // From less than the server's tick to about what a burst of operations takes.
  return static_cast<int64_t>(random_.Between(1, 60)) * kNanosOfAMilli;
}

void Workload::PickValue(uint32_t key, bool integer, Operation* operation, std::string* value) {
  if (integer) {
    operation->value = Value::Integer(static_cast<int64_t>(random_.Below(1000)));
    *value = std::to_string(operation->value.number);
    return;
  }
  const uint64_t number = uint64_t{plan_.client} << 32 | ++values_;
  size_t bytes = random_.Between(kStampBytes, plan_.largest_value);
  if (plan_.large_values && random_.OneIn(400)) bytes = random_.Between(30 << 10, 60 << 10);
  operation->value = Value::Opaque(number);
  *value = StampedValue(KeyName(key), number, bytes);
}

Operation Workload::PickRead() const { return {.kind = Kind::kGet, .client = plan_.client}; }

Operation Workload::PickWrite(uint32_t key, std::string* value) {
  Operation o{.client = plan_.client};
  const Habit habit = HabitOf(key);
  const uint64_t dice = random_.Below(100);
  o.kind = dice < 40   ? Kind::kPut
           : dice < 50 ? Kind::kPutIfAbsent
           : dice < 58 ? Kind::kReplace
           : dice < 75 ? Kind::kCompareAndSet
           : dice < 80 ? Kind::kAdd
           : dice < 90 ? Kind::kRemove
                       : Kind::kTouch;
  if (habit == Habit::kPutAndGet && dice < 95) o.kind = Kind::kPut;
  if (habit == Habit::kConditional && dice < 60) o.kind = Kind::kCompareAndSet;
  if (habit == Habit::kCounter && dice < 85) o.kind = Kind::kAdd;
  if (o.kind == Kind::kAdd) {
    o.delta = static_cast<int64_t>(random_.Between(1, 9));
    if (random_.OneIn(2)) o.initial = static_cast<int64_t>(random_.Below(3));
    return o;
  }
  if (o.kind == Kind::kRemove) return o;
  o.ttl = PickTtl(key);
  if (o.kind == Kind::kTouch) return o;
  if (o.kind == Kind::kCompareAndSet) {
    o.expected = last_version_[key];
    if (o.expected == 0) o.kind = Kind::kPutIfAbsent;
  }
  PickValue(key, habit == Habit::kCounter && !random_.OneIn(4), &o, value);
  return o;
}

bool Workload::Step() {
  if (__atomic_load_n(&recording_.header().stop, __ATOMIC_RELAXED) != 0) return false;
  if (recording_.room() < kKeysOfACall + 1) return false;
  const uint32_t key = PickKey();
  const uint64_t dice = random_.Below(100);
  NoteClockError();
  retries_ = blocking_.stats().retries;
  unscheduled_ = Unscheduled(schedule_.get());
  if (dice < 60) {
    Single(key);
  } else if (dice < 72) {
    Known(key);
  } else if (dice < 78) {
    ManyGets();
  } else if (dice < 82) {
    ManyPuts();
  } else if (dice < 83) {
    ManyRemoves();
  } else {
    Submit(key);
  }
  submitting_.Poll();
  NoteClockError();
  return true;
}

void Workload::NoteClockError() {
  int64_t& most = recording_.header().clock_error;
  for (const Session* session : {&blocking_, &submitting_}) {
    most = std::max<int64_t>(most, session->stats().clock_error.count());
  }
}

void Workload::Single(uint32_t key) {
  const std::string name = KeyName(key);
  std::string value;
  if (random_.OneIn(2)) {
    if (plan_.stale && AnsweredFromAStaleCopy(key)) return;
    const Operation o = PickRead();
    const uint64_t entry = recording_.Begin(key, o);
    if (random_.OneIn(5)) {
      const GetResult result = blocking_.Head(AsBytes(name));
      return Read(key, entry, o, result, {});
    }
    const GetResult result = blocking_.GetString(AsBytes(name), &value);
    return Read(key, entry, o, result, value);
  }
  const Operation o = PickWrite(key, &value);
  const uint64_t entry = recording_.Begin(key, o);
  const WriteResult result = Execute(key, o, value);
  Wrote(key, entry, o, result);
}

WriteResult Workload::Execute(uint32_t key, const Operation& o, const std::string& value) {
  const std::string name = KeyName(key);
  switch (o.kind) {
    case Kind::kRemove:
      return blocking_.RemoveBytes(AsBytes(name));
    case Kind::kCompareAndSet:
      return blocking_.CompareAndSet(AsBytes(name), o.expected, AsBytes(value), OptionsOf(o));
    case Kind::kTouch:
      return blocking_.Touch(AsBytes(name), InMillis(o.ttl));
    case Kind::kAdd:
      return blocking_.Add(AsBytes(name), o.delta, {.initial = o.initial});
    default:
      return blocking_.PutBytes(AsBytes(name), AsBytes(value), OptionsOf(o));
  }
}

void Workload::Known(uint32_t key) {
  const std::string name = KeyName(key);
  KnownKey& known = known_.try_emplace(key, AsBytes(name)).first->second;
  if (random_.OneIn(2)) {
    std::vector<std::byte> buffer(kBufferBytes);
    const Operation o = PickRead();
    const uint64_t entry = recording_.Begin(key, o);
    const GetResult result = blocking_.GetKnown(known, buffer);
    return Read(key, entry, o, result,
                {reinterpret_cast<const char*>(buffer.data()), result.value_bytes});
  }
  Operation o{.kind = Kind::kPut, .client = plan_.client, .ttl = PickTtl(key)};
  std::string value;
  PickValue(key, HabitOf(key) == Habit::kCounter, &o, &value);
  const uint64_t entry = recording_.Begin(key, o);
  const WriteResult result = blocking_.PutKnown(known, AsBytes(value), OptionsOf(o));
  Wrote(key, entry, o, result);
}

void Workload::ManyGets() {
  const std::vector<uint32_t> keys = PickKeys();
  std::vector<std::string> names;
  std::vector<std::vector<std::byte>> buffers(keys.size(), std::vector<std::byte>(kBufferBytes));
  std::vector<GetRequest> requests(keys.size());
  std::vector<uint64_t> entries;
  for (uint32_t key : keys) names.push_back(KeyName(key));
  for (size_t i = 0; i < keys.size(); ++i) {
    requests[i] = {.key = AsBytes(names[i]), .buffer = buffers[i]};
    entries.push_back(recording_.Begin(keys[i], PickRead()));
  }
  blocking_.MultiGet(requests);
  for (size_t i = 0; i < keys.size(); ++i) {
    const GetResult& result = requests[i].result;
    Read(keys[i], entries[i], PickRead(), result,
         {reinterpret_cast<const char*>(buffers[i].data()), result.value_bytes});
  }
}

void Workload::ManyPuts() {
  const std::vector<uint32_t> keys = PickKeys();
  std::vector<std::string> names, values(keys.size());
  std::vector<Operation> operations;
  std::vector<PutRequest> requests(keys.size());
  std::vector<uint64_t> entries;
  for (uint32_t key : keys) names.push_back(KeyName(key));
  for (size_t i = 0; i < keys.size(); ++i) {
    Operation o{.kind = Kind::kPut, .client = plan_.client, .ttl = PickTtl(keys[i])};
    if (random_.OneIn(4)) o.kind = Kind::kPutIfAbsent;
    PickValue(keys[i], HabitOf(keys[i]) == Habit::kCounter, &o, &values[i]);
    requests[i] = {.key = AsBytes(names[i]), .value = AsBytes(values[i]), .options = OptionsOf(o)};
    operations.push_back(o);
    entries.push_back(recording_.Begin(keys[i], o));
  }
  blocking_.MultiPut(requests);
  for (size_t i = 0; i < keys.size(); ++i) {
    Wrote(keys[i], entries[i], operations[i], requests[i].result);
  }
}

void Workload::ManyRemoves() {
  const std::vector<uint32_t> keys = PickKeys();
  std::vector<std::string> names;
  std::vector<RemoveRequest> requests(keys.size());
  std::vector<uint64_t> entries;
  const Operation o{.kind = Kind::kRemove, .client = plan_.client};
  for (uint32_t key : keys) names.push_back(KeyName(key));
  for (size_t i = 0; i < keys.size(); ++i) {
    requests[i].key = AsBytes(names[i]);
    entries.push_back(recording_.Begin(keys[i], o));
  }
  blocking_.MultiRemove(requests);
  for (size_t i = 0; i < keys.size(); ++i) Wrote(keys[i], entries[i], o, requests[i].result);
}

void Workload::Submit(uint32_t key) {
  std::erase_if(in_flight_, [](const auto& each) { return each->done; });
  if (in_flight_.size() == kSubmitted) {
    submitting_.Poll();
    return;
  }
  auto owned = std::make_unique<InFlight>();
  InFlight& call = *owned;
  in_flight_.push_back(std::move(owned));
  call.key = key;
  call.name = KeyName(key);
  if (random_.OneIn(2)) {
    call.operation = PickRead();
    call.buffer.resize(kBufferBytes);
    call.entry = recording_.Begin(key, call.operation);
    submitting_.SubmitGet(AsBytes(call.name), call.buffer, [this, &call](const GetResult& result) {
      const auto* text = reinterpret_cast<const char*>(call.buffer.data());
      Read(call.key, call.entry, call.operation, result, {text, result.value_bytes});
      call.done = true;
    });
    return;
  }
  const auto wrote = [this, &call](const WriteResult& result) {
    Wrote(call.key, call.entry, call.operation, result);
    call.done = true;
  };
  call.operation = {.kind = Kind::kPut, .client = plan_.client, .ttl = PickTtl(key)};
  if (random_.OneIn(8)) {
    call.operation = {.kind = Kind::kRemove, .client = plan_.client};
    call.entry = recording_.Begin(key, call.operation);
    submitting_.SubmitRemove(AsBytes(call.name), wrote);
    return;
  }
  PickValue(key, HabitOf(key) == Habit::kCounter, &call.operation, &call.value);
  call.entry = recording_.Begin(key, call.operation);
  submitting_.SubmitPut(AsBytes(call.name), AsBytes(call.value), wrote, OptionsOf(call.operation));
}

void Workload::Note(Outcome outcome, uint32_t key, Operation* operation) {
  const std::optional<Answer> answer = AnswerOf(outcome);
  operation->answer = answer.value_or(Answer::kNoEffect);
  RecordingHeader& header = recording_.header();
  if (!answer.has_value()) {
    if (header.forbidden++ == 0) {
      const std::string text = std::string(OutcomeName(outcome)) + ", key " + KeyName(key) + ": " +
                               Describe(*operation) + "; " + blocking_.connection().ToString();
      std::strncpy(header.message, text.c_str(), sizeof header.message - 1);
    }
  } else if (*answer == Answer::kNoEffect) {
    ++header.errors;
  } else if (*answer == Answer::kUnknown) {
    ++header.unknown;
  }
}

void Workload::Read(uint32_t key, uint64_t entry, Operation o, const GetResult& result,
                    std::string_view value) {
  Note(result.outcome, key, &o);
  if (result.ok()) {
    o.version = result.version;
    o.ttl_left_seen = true;
    if (result.ttl_left.has_value()) o.ttl_left = result.ttl_left->count() * kNanosOfAMilli;
    if (value.data() != nullptr) o.value = ParseValue(KeyName(key), value);
    last_version_[key] = result.version;
    if (plan_.stale) copies_.try_emplace(key, o);
  }
  recording_.End(entry, o, Waited());
}

void Workload::Wrote(uint32_t key, uint64_t entry, Operation o, const WriteResult& result) {
  Note(result.outcome, key, &o);
  if (result.ok()) {
    o.version = o.kind == Kind::kRemove ? 0 : result.version;
    o.sum = result.sum;
  }
  if (result.outcome == Outcome::kVersionMismatch) o.version = result.version;
  if (o.version != 0) last_version_[key] = o.version;
  recording_.End(entry, o, Waited());
}

Wait Workload::Waited() const {
  if (blocking_.stats().retries == retries_) return {};
  return {.waited = true, .unscheduled = Unscheduled(schedule_.get()) - unscheduled_};
}

bool Workload::AnsweredFromAStaleCopy(uint32_t key) {
  const auto copy = copies_.find(key);
  if (copy == copies_.end() || !random_.OneIn(8)) return false;
  recording_.End(recording_.Begin(key, PickRead()), copy->second);
  return true;
}

}  // namespace dunlin::testing
