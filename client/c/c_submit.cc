#include <optional>

#include "client/c/c_types.h"

namespace dunlin::c {
namespace {

// Two pointers: they fit inside a std::function, which then allocates nothing.
template <typename CResult, typename CCallback>
struct Forward {
  CCallback callback;
  void* context;
  template <typename Result>
  void operator()(const Result& result) const {
    const CResult converted = FromResult(result);
    callback(context, &converted);
  }
};
using ForwardGet = Forward<dunlin_get_result, dunlin_get_callback>;
using ForwardWrite = Forward<dunlin_write_result, dunlin_write_callback>;

// `submit` returns whether there was room.
template <typename Submit>
dunlin_outcome Run(bool valid, Submit&& submit) {
  if (!valid) return DUNLIN_INVALID_ARGUMENT;
  return Guarded(DUNLIN_INTERNAL, [&] { return submit() ? DUNLIN_OK : DUNLIN_CONTENDED; });
}

}  // namespace
}  // namespace dunlin::c

using namespace dunlin::c;  // NOLINT: the functions below are that namespace's outside

dunlin_outcome dunlin_submit_get(dunlin_session* session, const void* key, size_t key_bytes,
                                 void* buffer, size_t buffer_bytes, int64_t deadline_ms,
                                 dunlin_get_callback callback, void* context) {
  const bool valid = session != nullptr && callback != nullptr && IsSpan(key, key_bytes) &&
                     IsSpan(buffer, buffer_bytes) && IsTime(deadline_ms);
  return Run(valid, [&] {
    return session->session->SubmitGet(ToBytes(key, key_bytes), ToBuffer(buffer, buffer_bytes),
                                       ForwardGet{callback, context}, ToCallOptions(deadline_ms));
  });
}

dunlin_outcome dunlin_submit_put(dunlin_session* session, const void* key, size_t key_bytes,
                                 const void* value, size_t value_bytes,
                                 const dunlin_put_options* options, dunlin_write_callback callback,
                                 void* context) {
  const std::optional<dunlin::PutOptions> put = ToPutOptions(options);
  const bool valid = session != nullptr && callback != nullptr && IsSpan(key, key_bytes) &&
                     IsSpan(value, value_bytes) && put.has_value();
  return Run(valid, [&] {
    return session->session->SubmitPut(ToBytes(key, key_bytes), ToBytes(value, value_bytes),
                                       ForwardWrite{callback, context}, *put);
  });
}

dunlin_outcome dunlin_submit_remove(dunlin_session* session, const void* key, size_t key_bytes,
                                    int64_t deadline_ms, dunlin_write_callback callback,
                                    void* context) {
  const bool valid =
      session != nullptr && callback != nullptr && IsSpan(key, key_bytes) && IsTime(deadline_ms);
  return Run(valid, [&] {
    return session->session->SubmitRemove(ToBytes(key, key_bytes), ForwardWrite{callback, context},
                                          ToCallOptions(deadline_ms));
  });
}

uint32_t dunlin_poll(dunlin_session* session) {
  return session == nullptr ? 0 : Guarded(uint32_t{0}, [&] { return session->session->Poll(); });
}

uint32_t dunlin_in_flight(const dunlin_session* session) {
  return session == nullptr ? 0 : session->session->in_flight();
}

void dunlin_drain(dunlin_session* session) {
  if (session == nullptr) return;
  Guarded(false, [&] {
    session->session->Drain();
    return true;
  });
}
