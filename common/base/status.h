#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace dunlin {

// Debian builds Abseil with its own string_view; these cross the border.
inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view FromAbsl(absl::string_view text) { return {text.data(), text.size()}; }

inline absl::Status MakeStatus(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, ToAbsl(message));
}

// The same, but no copy of it: copies share a count, which the packaged Abseil changes where
// ThreadSanitizer can't see it. For what goes to another thread.
inline absl::Status Unshared(const absl::Status& status) {
  return status.ok() ? absl::OkStatus() : MakeStatus(status.code(), FromAbsl(status.message()));
}

// The same code, with the message prefixed by `context` and ": ". An OK status stays as it is.
inline absl::Status WithContext(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string message(context);
  message += ": ";
  message += FromAbsl(status.message());
  return MakeStatus(status.code(), message);
}

namespace internal {

inline absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(absl::StatusOr<T> status_or) {
  return std::move(status_or).status();
}

}  // namespace internal
}  // namespace dunlin

#define DUNLIN_STATUS_JOIN_2_(a, b) a##b
#define DUNLIN_STATUS_JOIN_(a, b) DUNLIN_STATUS_JOIN_2_(a, b)

// Evaluates to an absl::Status or StatusOr; returns its status from the enclosing function unless
// OK.
#define DUNLIN_RETURN_IF_ERROR(expression)                                      \
  do {                                                                          \
    if (absl::Status dunlin_status_ = ::dunlin::internal::StatusOf(expression); \
        __builtin_expect(!dunlin_status_.ok(), 0)) {                            \
      return dunlin_status_;                                                    \
    }                                                                           \
  } while (false)

// DUNLIN_ASSIGN_OR_RETURN(auto value, ComputeValue());
#define DUNLIN_ASSIGN_OR_RETURN(target, expression) \
  DUNLIN_ASSIGN_OR_RETURN_(DUNLIN_STATUS_JOIN_(dunlin_status_or_, __LINE__), target, expression)
#define DUNLIN_ASSIGN_OR_RETURN_(temporary, target, expression)                   \
  auto temporary = (expression);                                                  \
  if (__builtin_expect(!temporary.ok(), 0)) return std::move(temporary).status(); \
  target = *std::move(temporary)
