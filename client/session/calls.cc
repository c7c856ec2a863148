#include <utility>

#include "client/session/session_impl.h"

namespace dunlin {
namespace {

struct OwnedValue final : PinnedValue::Owner {
  void Unpin() override { delete this; }
  std::string value;
};

WriteResult Refused(Outcome outcome) {
  WriteResult result;
  result.outcome = outcome;
  return result;
}

}  // namespace

GetResult SessionImpl::BlockingGet(Bytes key, GetMode mode, std::span<std::byte> buffer,
                                   std::string* string, const CallOptions& options) {
  GetResult result;
  ++stats_.gets;
  Operation& op = Blocking();
  if (Outcome prepared = Prepare(op, key, options); prepared != Outcome::kOk) {
    ++stats_.failures;
    result.outcome = prepared;
    return result;
  }
  op.get_result = &result;
  op.string = string;
  GetMachine& get = mode == GetMode::kCopy ? RestartGet(op)
                                           : op.machine.emplace<GetMachine>(op.key, mode, Hint(op));
  if (string != nullptr) {
    buffer = std::as_writable_bytes(std::span(string->data(), string->size()));
  }
  get.SupplySink(buffer.data(), buffer.size());
  RunBlocking(op);
  return result;
}

bool SessionImpl::InPlaceAdmitted(Bytes key) {
  return mapping_ != nullptr && !key.empty() && key.size() <= geometry_.max_key_bytes &&
         Admit() == Outcome::kOk;
}

Key SessionImpl::KeyOf(Bytes key) const {
  return {key.data(), static_cast<uint32_t>(key.size()), HashKey(key, geometry_.hash_seed)};
}

GetResult SessionImpl::GetInto(Bytes key, std::span<std::byte> buffer, const CallOptions& options) {
  if (InPlaceAdmitted(key)) {
    GetResult result;
    Hold();
    const bool done = GetInPlace(KeyOf(key), buffer, &result);
    Unhold();
    if (done) {
      ++stats_.gets;
      return result;
    }
  }
  return BlockingGet(key, GetMode::kCopy, buffer, nullptr, options);
}

GetResult SessionImpl::GetString(Bytes key, std::string* value, const CallOptions& options) {
  return BlockingGet(key, GetMode::kCopy, {}, value, options);
}

GetResult SessionImpl::Head(Bytes key, const CallOptions& options) {
  return BlockingGet(key, GetMode::kHead, {}, nullptr, options);
}

// Where there is nothing to pin the value is copied, and the copy belongs to what is handed out.
GetResult SessionImpl::GetOwned(Bytes key, PinnedValue* value, const CallOptions& options) {
  auto owner = std::make_unique<OwnedValue>();
  GetResult result = GetString(key, &owner->value, options);
  if (!result.ok()) return result;
  const Bytes bytes = AsBytes(owner->value);
  *value = PinnedValue(owner.release(), bytes, result.version, result.ttl_left);
  return result;
}

GetResult SessionImpl::GetPinned(Bytes key, PinnedValue* value, const CallOptions& options) {
  GetResult result;
  *value = PinnedValue();
  if (mapping_ == nullptr) return GetOwned(key, value, options);
  // A session that can't mark its word holds nothing back.
  if (mark_ == nullptr) {
    result.outcome = Outcome::kPermissionDenied;
    return result;
  }
  if (guard_->InChild()) {
    result.outcome = Outcome::kForked;
    return result;
  }
  // The hold begins before the record is found, so that it covers all that can be found.
  env_.now = Tick();
  Hold();
  result = BlockingGet(key, GetMode::kView, {}, nullptr, options);
  if (!result.ok()) {
    Unhold();
    return result;
  }
  ++pins_;
  const GetMachine& get = *std::get_if<GetMachine>(&Blocking().machine);
  *value =
      PinnedValue(this, Bytes(get.value(), get.value_bytes()), result.version, result.ttl_left);
  return result;
}

Outcome SessionImpl::CheckWrite(uint64_t value_bytes,
                                const std::optional<Milliseconds>& ttl) const {
  if (read_only_) return Outcome::kPermissionDenied;
  if (value_bytes > geometry_.max_value_bytes) return Outcome::kTooLarge;
  // Far beyond any lease of life, and far from where adding it to the tick would wrap.
  constexpr int64_t kLongestTtl = int64_t{1} << 53;
  if (ttl.has_value() && (ttl->count() < 1 || ttl->count() > kLongestTtl)) {
    return Outcome::kInvalidArgument;
  }
  return Outcome::kOk;
}

uint64_t SessionImpl::ExpiryOf(const std::optional<Milliseconds>& ttl) const {
  return ttl.has_value() ? env_.now + static_cast<uint64_t>(ttl->count()) : 0;
}

void SessionImpl::StartPut(Operation& op, Bytes value, const PutOptions& options,
                           const LostSwing& lost) {
  const Location hint = lost.hint.known() ? lost.hint : Hint(op);
  if (options.mode == PutMode::kIfPresent) {
    ModifyMachine::Request request;
    request.kind = ModifyKind::kReplace;
    request.key = op.key;
    request.value = value;
    request.expiry = ExpiryOf(options.ttl);
    op.machine.emplace<ModifyMachine>(request, hint);
  } else {
    PutMachine& put = op.machine.emplace<PutMachine>(options.mode == PutMode::kIfAbsent
                                                         ? PutMachine::Mode::kIfAbsent
                                                         : PutMachine::Mode::kAlways,
                                                     op.key, value, ExpiryOf(options.ttl), hint);
    if (!lost.now.empty()) put.LostTo(lost.now, lost.stamp);
  }
  Start(op);
}

WriteResult SessionImpl::PutByMachine(Bytes key, Bytes value, const PutOptions& options,
                                      const LostSwing& lost) {
  WriteResult result;
  Operation& op = Blocking();
  Outcome prepared = CheckWrite(value.size(), options.ttl);
  if (prepared == Outcome::kOk) prepared = Prepare(op, key, {options.deadline});
  if (prepared != Outcome::kOk) {
    ++stats_.failures;
    result.outcome = prepared;
    return result;
  }
  op.write_result = &result;
  // What was there in another server's memory means nothing.
  const bool same = lost.incarnation == op.incarnation;
  StartPut(op, value, options, same ? lost : LostSwing{});
  AwaitBlocking(op);
  return result;
}

WriteResult SessionImpl::PutBytes(Bytes key, Bytes value, const PutOptions& options) {
  ++stats_.puts;
  LostSwing lost;
  if (PutsInPlace(value, options) && InPlaceAdmitted(key)) {
    WriteResult result;
    Hold();
    const bool done = PutInPlace(KeyOf(key), value, ExpiryOf(options.ttl), &result, &lost);
    Unhold();
    if (done) return result;
  }
  return PutByMachine(key, value, options, lost);
}

WriteResult SessionImpl::BlockingModify(const ModifyMachine::Request& request, Bytes key,
                                        const CallOptions& options,
                                        const std::optional<Milliseconds>& ttl) {
  WriteResult result;
  Operation& op = Blocking();
  if (Outcome prepared = Prepare(op, key, options); prepared != Outcome::kOk) {
    ++stats_.failures;
    result.outcome = prepared;
    return result;
  }
  op.write_result = &result;
  ModifyMachine::Request keyed = request;
  keyed.key = op.key;
  // Not before: a new connection may have been made, to a server whose ticks are others.
  keyed.expiry = ExpiryOf(ttl);
  op.machine.emplace<ModifyMachine>(keyed, Hint(op));
  RunBlocking(op);
  return result;
}

WriteResult SessionImpl::RemoveBytes(Bytes key, const CallOptions& options) {
  ++stats_.removes;
  if (read_only_) return Refused(Outcome::kPermissionDenied);
  ModifyMachine::Request request;
  request.kind = ModifyKind::kRemove;
  return BlockingModify(request, key, options);
}

WriteResult SessionImpl::CompareAndSet(Bytes key, uint64_t version, Bytes value,
                                       const PutOptions& options) {
  ++stats_.compare_and_sets;
  if (Outcome refused = CheckWrite(value.size(), options.ttl); refused != Outcome::kOk) {
    ++stats_.failures;
    return Refused(refused);
  }
  ModifyMachine::Request request;
  request.kind = ModifyKind::kCompareAndSet;
  request.value = value;
  request.expected_version = version;
  return BlockingModify(request, key, {options.deadline}, options.ttl);
}

WriteResult SessionImpl::Add(Bytes key, int64_t delta, const AddOptions& options) {
  ++stats_.adds;
  if (read_only_) return Refused(Outcome::kPermissionDenied);
  ModifyMachine::Request request;
  request.kind = ModifyKind::kAdd;
  request.delta = delta;
  // An absent key and one that appears in between may alternate under a remover; a few rounds
  // settle it or show that nothing ever will.
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds; ++round) {
    WriteResult added = BlockingModify(request, key, {options.deadline});
    if (added.outcome != Outcome::kNotFound || !options.initial.has_value()) return added;
    int64_t first = 0;
    if (__builtin_add_overflow(*options.initial, delta, &first)) return Refused(Outcome::kOverflow);
    std::string text = std::to_string(first);
    PutOptions put;
    put.deadline = options.deadline;
    put.mode = PutMode::kIfAbsent;
    WriteResult created = PutBytes(key, AsBytes(text), put);
    created.sum = first;
    if (created.outcome != Outcome::kExists) return created;
  }
  ++stats_.failures;
  return Refused(Outcome::kContended);
}

WriteResult SessionImpl::Touch(Bytes key, std::optional<Milliseconds> ttl,
                               const CallOptions& options) {
  ++stats_.touches;
  if (Outcome refused = CheckWrite(0, ttl); refused != Outcome::kOk) {
    ++stats_.failures;
    return Refused(refused);
  }
  ModifyMachine::Request request;
  request.kind = ModifyKind::kTouch;
  return BlockingModify(request, key, options, ttl);
}

}  // namespace dunlin
