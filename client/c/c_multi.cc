#include <optional>
#include <span>
#include <vector>

#include "client/c/c_types.h"

namespace dunlin::c {
namespace {

bool Convert(const dunlin_get_request& from, GetRequest& to) {
  to.key = ToBytes(from.key, from.key_bytes);
  to.buffer = ToBuffer(from.buffer, from.buffer_bytes);
  return IsSpan(from.key, from.key_bytes) && IsSpan(from.buffer, from.buffer_bytes);
}

bool Convert(const dunlin_put_request& from, PutRequest& to) {
  const std::optional<PutMode> mode = ToPutMode(from.mode);
  if (!mode.has_value() || !IsTime(from.ttl_ms)) return false;
  to.key = ToBytes(from.key, from.key_bytes);
  to.value = ToBytes(from.value, from.value_bytes);
  to.options.mode = *mode;
  to.options.ttl = ToTime(from.ttl_ms);
  return IsSpan(from.key, from.key_bytes) && IsSpan(from.value, from.value_bytes);
}

bool Convert(const dunlin_remove_request& from, RemoveRequest& to) {
  to.key = ToBytes(from.key, from.key_bytes);
  return IsSpan(from.key, from.key_bytes);
}

void EndWith(dunlin_outcome outcome, dunlin_get_result& result) { result = GetEndedWith(outcome); }
void EndWith(dunlin_outcome outcome, dunlin_write_result& result) {
  result = WriteEndedWith(outcome);
}

template <typename Request>
dunlin_outcome RefuseAll(dunlin_outcome outcome, std::span<Request> requests) {
  for (Request& request : requests) EndWith(outcome, request.result);
  return outcome;
}

// Nothing is begun unless all of it is well formed.
template <typename From, typename To, typename Call>
dunlin_outcome Run(dunlin_session* session, std::vector<To> dunlin_session::*kept, From* requests,
                   size_t count, int64_t deadline_ms, Call&& call) {
  if (requests == nullptr) return count == 0 ? DUNLIN_OK : DUNLIN_INVALID_ARGUMENT;
  const std::span<From> from(requests, count);
  if (session == nullptr || !IsTime(deadline_ms)) return RefuseAll(DUNLIN_INVALID_ARGUMENT, from);
  std::vector<To>& to = session->*kept;
  const auto fill = [&] {
    to.resize(count);
    return true;
  };
  if (!Guarded(false, fill)) return RefuseAll(DUNLIN_INTERNAL, from);
  for (size_t i = 0; i < count; ++i) {
    if (!Convert(from[i], to[i])) return RefuseAll(DUNLIN_INVALID_ARGUMENT, from);
  }
  const auto run = [&] {
    call(*session->session, std::span<To>(to), ToCallOptions(deadline_ms));
    return true;
  };
  if (!Guarded(false, run)) return RefuseAll(DUNLIN_INTERNAL, from);
  dunlin_outcome first_failure = DUNLIN_OK;
  for (size_t i = 0; i < count; ++i) {
    from[i].result = FromResult(to[i].result);
    if (first_failure == DUNLIN_OK) first_failure = from[i].result.outcome;
  }
  return first_failure;
}

}  // namespace
}  // namespace dunlin::c

dunlin_outcome dunlin_multi_get(dunlin_session* session, dunlin_get_request* requests, size_t count,
                                int64_t deadline_ms) {
  return dunlin::c::Run(session, &dunlin_session::gets, requests, count, deadline_ms,
                        [](dunlin::Session& s, auto all, const dunlin::CallOptions& options) {
                          s.MultiGet(all, options);
                        });
}

dunlin_outcome dunlin_multi_put(dunlin_session* session, dunlin_put_request* requests, size_t count,
                                int64_t deadline_ms) {
  return dunlin::c::Run(session, &dunlin_session::puts, requests, count, deadline_ms,
                        [](dunlin::Session& s, auto all, const dunlin::CallOptions& options) {
                          s.MultiPut(all, options);
                        });
}

dunlin_outcome dunlin_multi_remove(dunlin_session* session, dunlin_remove_request* requests,
                                   size_t count, int64_t deadline_ms) {
  return dunlin::c::Run(session, &dunlin_session::removes, requests, count, deadline_ms,
                        [](dunlin::Session& s, auto all, const dunlin::CallOptions& options) {
                          s.MultiRemove(all, options);
                        });
}
