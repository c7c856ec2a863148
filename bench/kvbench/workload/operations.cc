#include "bench/kvbench/workload/operations.h"

#include <algorithm>

#include "bench/kvbench/workload/record_codec.h"
#include "common/base/clock.h"

namespace dunlin::kvbench {
namespace {

// Consecutive threads must not draw related numbers: Random spreads its seed.
uint64_t SeedOf(uint64_t seed, uint64_t thread) { return seed + thread * 0x9e3779b97f4a7c15; }

// So many operations are drawn together, as that costs each of them less; whole batches of them.
constexpr size_t kDrawnAhead = 16;

size_t DrawnAhead(size_t batch) { return (kDrawnAhead + batch - 1) / batch * batch; }

// A table, as nobody could predict the branches.
MetricId MetricOf(Op op) {
  constexpr MetricId kMetrics[] = {MetricId::kRead, MetricId::kUpdate, MetricId::kInsert,
                                   MetricId::kRead};
  static_assert(static_cast<size_t>(Op::kRead) == 0 && static_cast<size_t>(Op::kUpdate) == 1 &&
                static_cast<size_t>(Op::kInsert) == 2);
  return kMetrics[static_cast<size_t>(op)];
}

}  // namespace

Operations::Operations(Workload& workload, BindingSession& session, Recorder& recorder,
                       const TickClock& clock, size_t batch, uint64_t thread,
                       const std::atomic<bool>& stop)
    : workload_(workload),
      config_(workload.config()),
      session_(session),
      recorder_(recorder),
      clock_(clock),
      stop_(stop),
      random_(SeedOf(config_.seed, thread)),
      chooser_(workload.NewChooser()),
      choice_(config_.proportions),
      field_length_(config_.field_length),
      pool_(config_.field_length.most(), random_),
      drawn_(DrawnAhead(batch)),
      drawn_numbers_(drawn_.size()),
      key_room_(config_.KeyRoom()),
      drawn_keys_(drawn_.size() * key_room_),
      next_drawn_(drawn_.size()),
      keys_(batch * key_room_),
      slots_(batch),
      records_(batch),
      first_(batch),
      second_(batch),
      again_(batch) {}

bool Operations::Transact(size_t count, uint64_t due) {
  firsts_ = seconds_ = 0;
  if (drawn_.size() - next_drawn_ < count) DrawAhead();
  for (size_t i = 0; i < count; ++i) PrepareAction(i, drawn_[next_drawn_++]);
  const Span span = Call(std::span(first_).first(firsts_));
  due_ = due == 0 ? span.start : due;
  Settle(count, span);
  if (seconds_ > 0) WriteAgain(span);
  return !config_.has(Action::kInsert) || SettleInserts(count);
}

void Operations::DrawAhead() {
  next_drawn_ = 0;
  for (Drawn& drawn : drawn_) drawn.action = static_cast<Action>(choice_.Next(random_));
  chooser_->NextMany(drawn_numbers_, random_);
  if (config_.hashed_keys) {
    for (int64_t& number : drawn_numbers_) number = FnvHash64(number);
  }
  for (size_t i = 0; i < drawn_.size(); ++i) {
    drawn_[i].key = WriteKeyTo(drawn_numbers_[i], drawn_keys_, i);
  }
}

void Operations::PrepareAction(size_t index, const Drawn& drawn) {
  Slot& slot = slots_[index];
  slot.action = drawn.action;
  slot.writes_again = false;
  slot.key = drawn.key;
  if (slot.action == Action::kInsert) PrepareInsert(index, workload_.inserted().Next());
  if (config_.fields.size() > 1) slot.field = random_.Below(config_.fields.size());
  Prepare(index);
}

void Operations::PrepareInsert(size_t index, int64_t number) {
  Slot& slot = slots_[index];
  slot.action = Action::kInsert;
  slot.number = number;
  slot.key = WriteKeyTo(config_.hashed_keys ? FnvHash64(number) : number, keys_, index);
}

// Adds the slot's first request, and counts a second one that will follow.
void Operations::Prepare(size_t index) {
  Slot& slot = slots_[index];
  if (slot.action == Action::kScan) {
    slot.first = Return::kNotImplemented;
    return;
  }
  slot.request = firsts_++;
  Request& request = first_[slot.request];
  request = {.key = slot.key};
  switch (slot.action) {
    case Action::kInsert:
      request.op = Op::kInsert;
      request.value = RecordOf(slot, index);
      return;
    case Action::kUpdate:
      if (!config_.PartialUpdates()) {
        request.op = Op::kUpdate;
        request.value = RecordOf(slot, index);
        return;
      }
      break;
    case Action::kRead:
      return;
    case Action::kReadModifyWrite:
    case Action::kScan:
      break;
  }
  slot.writes_again = true;
  again_[seconds_++] = index;
}

// `number` is the one in the name.
std::string_view Operations::WriteKeyTo(int64_t number, std::vector<char>& keys,
                                        size_t index) const {
  char* const start = keys.data() + index * key_room_;
  char* const end = WriteKey(number, config_.zero_padding, start);
  return {start, static_cast<size_t>(end - start)};
}

std::string_view Operations::FieldOf(std::string_view key, size_t field) {
  const size_t length = field_length_.Next(random_);
  if (!config_.data_integrity) return pool_.Take(length, random_);
  MakeDeterministicValue(key, config_.fields[field], length, field_content_);
  return field_content_;
}

std::string_view Operations::RecordOf(const Slot& slot, size_t index) {
  if (config_.fields.size() == 1 && !config_.data_integrity) return FieldOf(slot.key, 0);
  std::string& record = records_[index];
  record.clear();
  if (config_.fields.size() == 1) {
    record = FieldOf(slot.key, 0);
    return record;
  }
  for (size_t i = 0; i < config_.fields.size(); ++i) {
    AppendField(config_.fields[i], FieldOf(slot.key, i), record);
  }
  return record;
}

Operations::Span Operations::Call(std::span<Request> requests) {
  const uint64_t start = clock_.Start();
  if (!requests.empty()) session_.Execute(requests);
  return {start, clock_.Now()};
}

// Records what the first call did.
void Operations::Settle(size_t count, Span span) {
  const uint64_t nanos = clock_.ToNanos(span.end - span.start);
  // A call may begin before its time only by what the clock's steps are off.
  const uint64_t late = span.end > due_ ? clock_.ToNanos(span.end - due_) : 0;
  MetricSet& set = recorder_.set();
  // Asked first, as nobody could predict which slot is which.
  const bool partial = config_.PartialUpdates();
  for (size_t i = 0; i < count; ++i) {
    Slot& slot = slots_[i];
    if (slot.action == Action::kScan) {
      const auto returned = static_cast<size_t>(slot.first);
      set.Record(MetricId::kScan, returned, nanos, late);
      set.CountReturn(MetricId::kScan, returned);
      continue;
    }
    const Request& request = first_[slot.request];
    slot.first = request.returned;
    const auto returned = static_cast<size_t>(request.returned);
    if (!partial || slot.action != Action::kUpdate) {
      const MetricId metric = MetricOf(request.op);
      set.Record(metric, returned, nanos, late);
      set.CountReturn(metric, returned);
    }
    if (config_.data_integrity && request.op == Op::kRead) Verify(slot, request);
  }
}

bool Operations::SettleInserts(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (slots_[i].action != Action::kInsert) continue;
    if (workload_.inserted().Acknowledge(slots_[i].number)) continue;
    trouble_ = "an insert has been under way while " +
               std::to_string(AcknowledgedCounter::kWindow) + " later ones ended; is it stuck?";
    return false;
  }
  return true;
}

void Operations::Verify(const Slot& slot, const Request& read) {
  // A partial update reads for itself.
  if (slot.action == Action::kUpdate) return;
  const uint64_t start = clock_.Now();
  const size_t found = Check(slot, read);
  // It has no schedule of its own.
  const uint64_t nanos = clock_.ToNanos(clock_.Now() - start);
  recorder_.set().Record(MetricId::kVerify, 0, nanos, nanos);
  recorder_.set().CountReturn(MetricId::kVerify, found);
}

size_t Operations::Check(const Slot& slot, const Request& read) {
  const auto kMissing = static_cast<size_t>(Return::kError);
  if (read.returned != Return::kOk) return kMissing;
  if (config_.fields.size() == 1) {
    return read.found == FieldOf(slot.key, 0) ? 0 : kUnexpectedState;
  }
  size_t fields = 0;
  for (std::string_view rest = read.found; !rest.empty(); ++fields) {
    const std::optional<Field> field = TakeField(rest);
    if (!field || fields == config_.fields.size() || field->name != config_.fields[fields]) {
      return kUnexpectedState;
    }
    if (!config_.read_all_fields && fields != slot.field) continue;
    if (field->content != FieldOf(slot.key, fields)) return kUnexpectedState;
  }
  return fields == config_.fields.size() ? 0 : kUnexpectedState;
}

// The second call: what was read, changed and written back.
void Operations::WriteAgain(Span first) {
  const uint64_t start = clock_.Start();
  const std::span<const size_t> again = std::span(again_).first(seconds_);
  seconds_ = 0;
  for (const size_t i : again) slots_[i].writes_again = Merge(slots_[i], i);
  if (seconds_ > 0) session_.Execute(std::span(second_).first(seconds_));
  const uint64_t end = clock_.Now();

  const uint64_t first_ticks = first.end - first.start, second_ticks = end - start;
  const uint64_t both = clock_.ToNanos(first_ticks + second_ticks);
  const uint64_t late = end > due_ ? clock_.ToNanos(end - due_) : 0;
  MetricSet& set = recorder_.set();
  size_t next = 0;
  for (const size_t i : again) {
    const Slot& slot = slots_[i];
    const bool modify = slot.action == Action::kReadModifyWrite;
    const Return returned = slot.writes_again ? second_[next++].returned : slot.first;
    const uint64_t nanos = modify ? clock_.ToNanos(second_ticks) : both;
    set.Record(MetricId::kUpdate, static_cast<size_t>(returned), nanos, late);
    set.CountReturn(MetricId::kUpdate, static_cast<size_t>(returned));
    if (modify) set.Record(MetricId::kReadModifyWrite, 0, both, late);
  }
}

// Adds the slot's second request. False: there is nothing to change, or it is damaged.
bool Operations::Merge(Slot& slot, size_t index) {
  Request& request = second_[seconds_];
  request = {.op = Op::kUpdate, .key = slot.key};
  if (!config_.PartialUpdates()) {
    request.value = RecordOf(slot, index);
  } else {
    if (slot.first != Return::kOk) return false;
    std::string& record = records_[index];
    record.clear();
    const std::string_view content = FieldOf(slot.key, slot.field);
    const std::string_view found = first_[slot.request].found;
    if (!ReplaceField(found, config_.fields[slot.field], content, record)) {
      slot.first = Return::kError;
      trouble_ = "the record of " + std::string(slot.key) +
                 " is not one of several fields; was it loaded with another fieldcount?";
      return false;
    }
    request.value = record;
  }
  ++seconds_;
  return true;
}

bool Operations::Load(size_t count, uint64_t due) {
  for (size_t i = 0; i < count; ++i) {
    PrepareInsert(i, workload_.NextToLoad());
    const Slot& slot = slots_[i];
    first_[i] = {.op = Op::kInsert, .key = slot.key, .value = RecordOf(slot, i)};
  }
  due_ = due;
  return InsertAll(std::span(first_).first(count)) || config_.keep_going_on_error;
}

// Again and again those that failed, as often as the workload says.
bool Operations::InsertAll(std::span<Request> requests) {
  for (int64_t attempt = 0;; ++attempt) {
    const Span span = Call(requests);
    if (due_ == 0) due_ = span.start;
    const uint64_t nanos = clock_.ToNanos(span.end - span.start);
    const uint64_t late = span.end > due_ ? clock_.ToNanos(span.end - due_) : 0;
    for (const Request& request : requests) {
      const auto returned = static_cast<size_t>(request.returned);
      recorder_.set().Record(MetricId::kInsert, returned, nanos, late);
      recorder_.set().CountReturn(MetricId::kInsert, returned);
    }
    const auto failed =
        std::partition(requests.begin(), requests.end(),
                       [](const Request& request) { return request.returned == Return::kOk; });
    requests = requests.subspan(static_cast<size_t>(failed - requests.begin()));
    if (requests.empty()) return true;
    if (attempt == config_.insertion_retries || !WaitToRetry()) {
      trouble_ = "Error inserting, not retrying any more. number of attempts: " +
                 std::to_string(attempt + 1) +
                 " Insertion Retry Limit: " + std::to_string(config_.insertion_retries) + ". " +
                 session_.last_error();
      return false;
    }
  }
}

// False: it is to stop.
bool Operations::WaitToRetry() {
  constexpr int64_t kStep = 50'000'000;
  const double share = 0.8 + 0.4 * random_.Unit();
  auto left = static_cast<int64_t>(config_.insertion_retry_seconds * share * 1e9);
  for (; left > 0 && !stop_.load(std::memory_order_relaxed); left -= kStep) {
    SystemClock::Shared().Pause(std::min(left, kStep));
  }
  return !stop_.load(std::memory_order_relaxed);
}

}  // namespace dunlin::kvbench
