#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "dunlin/client.h"
#include "dunlin/dunlin.h"
#include "dunlin/session.h"

// What the opaque types of dunlin.h are, and how values cross between the two interfaces.

struct dunlin_client {
  std::unique_ptr<dunlin::Client> client;
};

struct dunlin_session {
  std::unique_ptr<dunlin::Session> session;
  // Of the multi-key calls, kept from call to call.
  std::vector<dunlin::GetRequest> gets;
  std::vector<dunlin::PutRequest> puts;
  std::vector<dunlin::RemoveRequest> removes;
};

struct dunlin_pinned {
  dunlin::PinnedValue value;
};

namespace dunlin::c {

// No exception crosses into C: the standard library's only means of saying that memory is out ends
// here.
template <typename Result, typename Function>
Result Guarded(Result fallback, Function&& function) noexcept {
  try {
    return function();
  } catch (...) {
    return fallback;
  }
}

inline bool IsSpan(const void* data, size_t bytes) { return data != nullptr || bytes == 0; }
inline Bytes ToBytes(const void* data, size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
inline std::span<std::byte> ToBuffer(void* data, size_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

inline bool IsTime(int64_t ms) { return ms >= DUNLIN_UNSET; }
inline std::optional<Milliseconds> ToTime(int64_t ms) {
  if (ms == DUNLIN_UNSET) return std::nullopt;
  return Milliseconds(ms);
}
inline int64_t FromTime(const std::optional<Milliseconds>& time) {
  return time.has_value() ? time->count() : DUNLIN_UNSET;
}
inline CallOptions ToCallOptions(int64_t deadline_ms) {
  CallOptions options;
  options.deadline = ToTime(deadline_ms);
  return options;
}

// The caller's options over `defaults`; false if they are of no size that this release knows.
template <typename Options>
bool ReadOptions(const Options* given, Options& options) {
  if (given == nullptr) return true;
  if (given->size < sizeof given->size || given->size > sizeof options) return false;
  __builtin_memcpy(&options, given, given->size);
  return true;
}

// As much of `report` as the caller has room for; false if not even its size.
template <typename Report>
bool WriteReport(Report report, Report* to) {
  if (to == nullptr || to->size < sizeof to->size) return false;
  report.size = to->size < sizeof report ? to->size : sizeof report;
  __builtin_memcpy(to, &report, report.size);
  return true;
}

// Empty if they are invalid.
std::optional<PutOptions> ToPutOptions(const dunlin_put_options* given);
std::optional<PutMode> ToPutMode(dunlin_put_mode mode);

dunlin_outcome FromOutcome(Outcome outcome);
dunlin_get_result FromResult(const GetResult& result);
dunlin_write_result FromResult(const WriteResult& result);

dunlin_get_result GetEndedWith(dunlin_outcome outcome);
dunlin_write_result WriteEndedWith(dunlin_outcome outcome);

// Writes the status, in words too, to `error` unless that is null.
dunlin_code Report(const absl::Status& status, dunlin_error* error);
dunlin_code ReportInvalid(const char* message, dunlin_error* error);

}  // namespace dunlin::c
