#include <algorithm>

#include "client/c/c_types.h"

namespace dunlin::c {

std::optional<PutMode> ToPutMode(dunlin_put_mode mode) {
  switch (mode) {
    case DUNLIN_PUT_ALWAYS:
      return PutMode::kAlways;
    case DUNLIN_PUT_IF_ABSENT:
      return PutMode::kIfAbsent;
    case DUNLIN_PUT_IF_PRESENT:
      return PutMode::kIfPresent;
  }
  return std::nullopt;
}

std::optional<PutOptions> ToPutOptions(const dunlin_put_options* given) {
  dunlin_put_options complete = DUNLIN_PUT_OPTIONS_INIT;
  if (!ReadOptions(given, complete)) return std::nullopt;
  const std::optional<PutMode> mode = ToPutMode(complete.mode);
  if (!mode.has_value() || !IsTime(complete.ttl_ms) || !IsTime(complete.deadline_ms)) {
    return std::nullopt;
  }
  PutOptions options;
  options.mode = *mode;
  options.ttl = ToTime(complete.ttl_ms);
  options.deadline = ToTime(complete.deadline_ms);
  return options;
}

dunlin_get_result FromResult(const GetResult& result) {
  return {FromOutcome(result.outcome), result.value_bytes, result.version,
          FromTime(result.ttl_left)};
}

dunlin_write_result FromResult(const WriteResult& result) {
  return {FromOutcome(result.outcome), result.version, result.sum};
}

dunlin_get_result GetEndedWith(dunlin_outcome outcome) { return {outcome, 0, 0, DUNLIN_UNSET}; }
dunlin_write_result WriteEndedWith(dunlin_outcome outcome) { return {outcome, 0, 0}; }

dunlin_code Report(const absl::Status& status, dunlin_error* error) {
  const auto code = static_cast<dunlin_code>(status.code());
  if (error == nullptr) return code;
  *error = {};
  error->code = code;
  const absl::string_view message = status.message().substr(0, sizeof error->message - 1);
  std::copy(message.begin(), message.end(), error->message);
  return code;
}

dunlin_code ReportInvalid(const char* message, dunlin_error* error) {
  return Report(absl::InvalidArgumentError(message), error);
}

}  // namespace dunlin::c
