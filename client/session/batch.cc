#include <algorithm>
#include <utility>

#include "client/session/session_impl.h"

namespace dunlin {
namespace {

// As many misses as a core keeps in flight are overlapped well before this; more only crowds the
// cache with operations.
constexpr uint32_t kWindow = 24;

template <typename Request>
Request& RequestOf(Request& request) {
  return request;
}
template <typename Request>
Request& RequestOf(Request* request) {
  return *request;
}

}  // namespace

Operation* SessionImpl::TakeSlot() {
  if (free_slots_.empty()) return nullptr;
  Operation& op = operations_[free_slots_.back()];
  free_slots_.pop_back();
  return &op;
}

void SessionImpl::FreeSlot(Operation& op) {
  op.stage = Operation::Stage::kFree;
  free_slots_.push_back(op.number);
}

// A multi-key call shares the slots with submitted operations; the latter may have to end first.
Operation& SessionImpl::WaitForSlot() {
  for (;;) {
    if (Operation* op = TakeSlot()) return *op;
    Pump(true);
    if (!lost_.empty()) ResolveLost();
    if (free_slots_.empty() && !finished_.empty()) RunCallbacks();
  }
}

void SessionImpl::Finished(Operation& op) {
  if (op.get_done || op.write_done) {
    finished_.push_back(&op);
    return;
  }
  --batch_left_;
  FreeSlot(op);
}

void SessionImpl::WaitForBatch(uint32_t until) {
  while (batch_left_ > until) {
    env_.now = Tick();
    RenewMark();
    Pump(true);
    if (!lost_.empty()) ResolveLost();
  }
}

// One request of a multi-key call; true if it is under way.
template <typename Request>
bool SessionImpl::PrepareOne(Operation& op, Request& request, Outcome refused,
                             const CallOptions& options) {
  request.result = {};
  if (refused == Outcome::kOk) refused = Prepare(op, request.key, options);
  if (refused == Outcome::kOk) {
    PrefetchPlace(op.key);
    ++batch_left_;
    return true;
  }
  ++stats_.failures;
  request.result.outcome = refused;
  FreeSlot(op);
  return false;
}

// In groups: prepare all of a group (which prefetches the location cache), prefetch what it names
// of a mapping, then start all (which prefetches the index and the heap), then carry on. A group
// starts when half of the last is done.
template <typename Item, typename StartOne>
void SessionImpl::RunBatch(std::span<Item> requests, const CallOptions& options, StartOne&& start) {
  Operation* group[kWindow];
  size_t next = 0;
  while (next < requests.size()) {
    WaitForBatch(kWindow / 2);
    uint32_t room = kWindow - batch_left_;
    uint32_t taken = 0;
    size_t first = next;
    for (; next < requests.size() && taken < room; ++next, ++taken) {
      Operation& op = WaitForSlot();
      auto& request = RequestOf(requests[next]);
      group[taken] = PrepareOne(op, request, Refusal(request), options) ? &op : nullptr;
    }
    for (uint32_t i = 0; i < taken; ++i) {
      if (group[i] != nullptr) PrefetchRecalled(group[i]->key);
    }
    for (uint32_t i = 0; i < taken; ++i) {
      if (group[i] != nullptr) start(*group[i], RequestOf(requests[first + i]));
    }
  }
  WaitForBatch(0);
}

Outcome SessionImpl::Refusal(const GetRequest&) const { return Outcome::kOk; }
Outcome SessionImpl::Refusal(const PutRequest& request) const {
  return CheckWrite(request.value.size(), request.options.ttl);
}
Outcome SessionImpl::Refusal(const RemoveRequest&) const {
  return read_only_ ? Outcome::kPermissionDenied : Outcome::kOk;
}

void SessionImpl::StartGet(Operation& op, std::span<std::byte> buffer) {
  GetMachine& get = RestartGet(op);
  get.SupplySink(buffer.data(), buffer.size());
  Start(op);
}

void SessionImpl::StartRemove(Operation& op) {
  ModifyMachine::Request request;
  request.kind = ModifyKind::kRemove;
  request.key = op.key;
  op.machine.emplace<ModifyMachine>(request, Hint(op));
  Start(op);
}

void SessionImpl::MultiGet(std::span<GetRequest> requests, const CallOptions& options) {
  stats_.gets += requests.size();
  std::vector<GetRequest*> left;
  if (mapping_ != nullptr) {
    MultiGetInPlace(requests, &left);
  } else {
    for (GetRequest& request : requests) {
      if (request.known != nullptr) request.key = request.known->bytes();
      left.push_back(&request);
    }
  }
  RunBatch(std::span(left), options, [this](Operation& op, GetRequest& request) {
    op.get_result = &request.result;
    StartGet(op, request.buffer);
  });
}

void SessionImpl::MultiPut(std::span<PutRequest> requests, const CallOptions& options) {
  stats_.puts += requests.size();
  std::vector<PutRequest*> left;
  if (mapping_ != nullptr) {
    MultiPutInPlace(requests, &left);
  } else {
    for (PutRequest& request : requests) left.push_back(&request);
  }
  RunBatch(std::span(left), options, [this](Operation& op, PutRequest& request) {
    op.write_result = &request.result;
    StartPut(op, request.value, request.options);
  });
}

void SessionImpl::MultiRemove(std::span<RemoveRequest> requests, const CallOptions& options) {
  stats_.removes += requests.size();
  RunBatch(requests, options, [this](Operation& op, RemoveRequest& request) {
    op.write_result = &request.result;
    StartRemove(op);
  });
}

// What can't even begin is told by the callback too, in a later Poll.
bool SessionImpl::EndsAtOnce(Operation& op, Outcome outcome) {
  ++in_flight_;
  if (outcome == Outcome::kOk) return false;
  ++stats_.failures;
  op.own_get = {};
  op.own_write = {};
  op.own_get.outcome = op.own_write.outcome = outcome;
  op.stage = Operation::Stage::kDone;
  finished_.push_back(&op);
  return true;
}

bool SessionImpl::SubmitGet(Bytes key, std::span<std::byte> buffer, GetCallback done,
                            const CallOptions& options) {
  Operation* op = TakeSlot();
  if (op == nullptr) return false;
  ++stats_.gets;
  Outcome prepared = Prepare(*op, key, options);
  op->get_done = std::move(done);
  if (EndsAtOnce(*op, prepared)) return true;
  op->own_get = {};
  op->get_result = &op->own_get;
  StartGet(*op, buffer);
  return true;
}

bool SessionImpl::SubmitPut(Bytes key, Bytes value, WriteCallback done, const PutOptions& options) {
  Operation* op = TakeSlot();
  if (op == nullptr) return false;
  ++stats_.puts;
  Outcome prepared = CheckWrite(value.size(), options.ttl);
  if (prepared == Outcome::kOk) prepared = Prepare(*op, key, {options.deadline});
  op->write_done = std::move(done);
  if (EndsAtOnce(*op, prepared)) return true;
  op->own_write = {};
  op->write_result = &op->own_write;
  StartPut(*op, value, options);
  return true;
}

bool SessionImpl::SubmitRemove(Bytes key, WriteCallback done, const CallOptions& options) {
  Operation* op = TakeSlot();
  if (op == nullptr) return false;
  ++stats_.removes;
  Outcome prepared = read_only_ ? Outcome::kPermissionDenied : Outcome::kOk;
  if (prepared == Outcome::kOk) prepared = Prepare(*op, key, options);
  op->write_done = std::move(done);
  if (EndsAtOnce(*op, prepared)) return true;
  op->own_write = {};
  op->write_result = &op->own_write;
  StartRemove(*op);
  return true;
}

// The slot is free before its callback runs, so that the callback can submit the next operation.
uint32_t SessionImpl::RunCallbacks() {
  uint32_t ran = 0;
  std::vector<Operation*> finished;
  finished.swap(finished_);
  for (Operation* op : finished) {
    GetCallback get_done = std::exchange(op->get_done, nullptr);
    WriteCallback write_done = std::exchange(op->write_done, nullptr);
    GetResult get = op->own_get;
    WriteResult write = op->own_write;
    FreeSlot(*op);
    --in_flight_;
    ++ran;
    if (get_done) get_done(get);
    if (write_done) write_done(write);
  }
  return ran;
}

uint32_t SessionImpl::Poll() {
  if (guard_->InChild()) return 0;
  if (posted_ != 0 || !waiting_.empty()) {
    env_.now = Tick();
    RenewMark();
    Pump(false);
  }
  if (!lost_.empty()) ResolveLost();
  return RunCallbacks();
}

void SessionImpl::Drain() {
  if (guard_->InChild()) return;
  while (in_flight_ != 0) {
    if (Poll() == 0 && posted_ != 0) Pump(true);
  }
}

}  // namespace dunlin
