#include <memory>
#include <optional>

#include "client/c/c_types.h"

using dunlin::AddOptions;
using dunlin::PutOptions;
using dunlin::c::FromResult;
using dunlin::c::GetEndedWith;
using dunlin::c::Guarded;
using dunlin::c::IsSpan;
using dunlin::c::IsTime;
using dunlin::c::ToBuffer;
using dunlin::c::ToBytes;
using dunlin::c::ToCallOptions;
using dunlin::c::ToPutOptions;
using dunlin::c::ToTime;
using dunlin::c::WriteEndedWith;

namespace {

template <typename Result>
dunlin_outcome Deliver(const Result& result, Result* to) {
  if (to != nullptr) *to = result;
  return result.outcome;
}

// `call` returns a dunlin::GetResult.
template <typename Call>
dunlin_outcome RunGet(bool valid, dunlin_get_result* result, Call&& call) {
  if (!valid) return Deliver(GetEndedWith(DUNLIN_INVALID_ARGUMENT), result);
  return Deliver(Guarded(GetEndedWith(DUNLIN_INTERNAL), [&] { return FromResult(call()); }),
                 result);
}

template <typename Call>
dunlin_outcome RunWrite(bool valid, dunlin_write_result* result, Call&& call) {
  if (!valid) return Deliver(WriteEndedWith(DUNLIN_INVALID_ARGUMENT), result);
  return Deliver(Guarded(WriteEndedWith(DUNLIN_INTERNAL), [&] { return FromResult(call()); }),
                 result);
}

}  // namespace

dunlin_outcome dunlin_get(dunlin_session* session, const void* key, size_t key_bytes, void* buffer,
                          size_t buffer_bytes, int64_t deadline_ms, dunlin_get_result* result) {
  const bool valid = session != nullptr && IsSpan(key, key_bytes) && IsSpan(buffer, buffer_bytes) &&
                     IsTime(deadline_ms);
  return RunGet(valid, result, [&] {
    return session->session->GetInto(ToBytes(key, key_bytes), ToBuffer(buffer, buffer_bytes),
                                     ToCallOptions(deadline_ms));
  });
}

dunlin_outcome dunlin_head(dunlin_session* session, const void* key, size_t key_bytes,
                           int64_t deadline_ms, dunlin_get_result* result) {
  const bool valid = session != nullptr && IsSpan(key, key_bytes) && IsTime(deadline_ms);
  return RunGet(valid, result, [&] {
    return session->session->Head(ToBytes(key, key_bytes), ToCallOptions(deadline_ms));
  });
}

dunlin_outcome dunlin_get_pinned(dunlin_session* session, const void* key, size_t key_bytes,
                                 int64_t deadline_ms, dunlin_pinned** pinned,
                                 dunlin_get_result* result) {
  if (pinned != nullptr) *pinned = nullptr;
  const bool valid =
      session != nullptr && pinned != nullptr && IsSpan(key, key_bytes) && IsTime(deadline_ms);
  return RunGet(valid, result, [&] {
    auto made = std::make_unique<dunlin_pinned>();
    const dunlin::GetResult got = session->session->GetPinned(ToBytes(key, key_bytes), &made->value,
                                                              ToCallOptions(deadline_ms));
    if (got.ok()) *pinned = made.release();
    return got;
  });
}

const void* dunlin_pinned_value(const dunlin_pinned* pinned) {
  return pinned == nullptr ? nullptr : pinned->value.value().data();
}

void dunlin_unpin(dunlin_pinned* pinned) { delete pinned; }

dunlin_outcome dunlin_put(dunlin_session* session, const void* key, size_t key_bytes,
                          const void* value, size_t value_bytes, const dunlin_put_options* options,
                          dunlin_write_result* result) {
  const std::optional<PutOptions> put = ToPutOptions(options);
  const bool valid =
      session != nullptr && IsSpan(key, key_bytes) && IsSpan(value, value_bytes) && put.has_value();
  return RunWrite(valid, result, [&] {
    return session->session->PutBytes(ToBytes(key, key_bytes), ToBytes(value, value_bytes), *put);
  });
}

dunlin_outcome dunlin_remove(dunlin_session* session, const void* key, size_t key_bytes,
                             int64_t deadline_ms, dunlin_write_result* result) {
  const bool valid = session != nullptr && IsSpan(key, key_bytes) && IsTime(deadline_ms);
  return RunWrite(valid, result, [&] {
    return session->session->RemoveBytes(ToBytes(key, key_bytes), ToCallOptions(deadline_ms));
  });
}

dunlin_outcome dunlin_compare_and_set(dunlin_session* session, const void* key, size_t key_bytes,
                                      uint64_t version, const void* value, size_t value_bytes,
                                      const dunlin_put_options* options,
                                      dunlin_write_result* result) {
  std::optional<PutOptions> put = ToPutOptions(options);
  const bool valid =
      session != nullptr && IsSpan(key, key_bytes) && IsSpan(value, value_bytes) && put.has_value();
  return RunWrite(valid, result, [&] {
    put->mode = dunlin::PutMode::kAlways;
    return session->session->CompareAndSet(ToBytes(key, key_bytes), version,
                                           ToBytes(value, value_bytes), *put);
  });
}

dunlin_outcome dunlin_add(dunlin_session* session, const void* key, size_t key_bytes, int64_t delta,
                          const int64_t* initial, int64_t deadline_ms,
                          dunlin_write_result* result) {
  const bool valid = session != nullptr && IsSpan(key, key_bytes) && IsTime(deadline_ms);
  return RunWrite(valid, result, [&] {
    AddOptions options;
    options.deadline = ToTime(deadline_ms);
    if (initial != nullptr) options.initial = *initial;
    return session->session->Add(ToBytes(key, key_bytes), delta, options);
  });
}

dunlin_outcome dunlin_touch(dunlin_session* session, const void* key, size_t key_bytes,
                            int64_t ttl_ms, int64_t deadline_ms, dunlin_write_result* result) {
  const bool valid =
      session != nullptr && IsSpan(key, key_bytes) && IsTime(ttl_ms) && IsTime(deadline_ms);
  return RunWrite(valid, result, [&] {
    return session->session->Touch(ToBytes(key, key_bytes), ToTime(ttl_ms),
                                   ToCallOptions(deadline_ms));
  });
}
