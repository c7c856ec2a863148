#pragma once

#include <type_traits>

// Checks of our own invariants. A failure prints the place, the condition and, for the comparing
// forms, both operands to stderr, and aborts. They stay in release builds; DUNLIN_DCHECK doesn't.
// Never for what a peer, a user or a file sent: that is an absl::Status.
//
//   DUNLIN_CHECK(ready);
//   DUNLIN_CHECK(ready, "call Start() first");
//   DUNLIN_CHECK_LE(offset + size, region_size);   // integers, enums, pointers, bools
//   DUNLIN_CHECK_OK(status);                       // anything with ok() and status-like ToString()

namespace dunlin::internal {

// The operand of a failed comparison, widened to what can be printed.
struct CheckOperand {
  enum class Kind { kSigned, kUnsigned, kPointer, kDouble } kind;
  union {
    long long as_signed;
    unsigned long long as_unsigned;
    const void* as_pointer;
    double as_double;
  };
};

template <typename T>
CheckOperand MakeCheckOperand(const T& value) {
  CheckOperand operand{};
  if constexpr (std::is_enum_v<T>) {
    return MakeCheckOperand(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_pointer_v<T>) {
    operand.kind = CheckOperand::Kind::kPointer;
    operand.as_pointer = value;
  } else if constexpr (std::is_null_pointer_v<T>) {
    operand.kind = CheckOperand::Kind::kPointer;
    operand.as_pointer = nullptr;
  } else if constexpr (std::is_floating_point_v<T>) {
    operand.kind = CheckOperand::Kind::kDouble;
    operand.as_double = value;
  } else if constexpr (std::is_signed_v<T>) {
    operand.kind = CheckOperand::Kind::kSigned;
    operand.as_signed = value;
  } else {
    static_assert(std::is_integral_v<T>, "DUNLIN_CHECK_xx compares scalars; use DUNLIN_CHECK");
    operand.kind = CheckOperand::Kind::kUnsigned;
    operand.as_unsigned = value;
  }
  return operand;
}

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* message = "");
[[noreturn]] void CheckOpFailed(const char* file, int line, const char* condition,
                                CheckOperand left, CheckOperand right);

template <typename L, typename R>
[[noreturn, gnu::cold, gnu::noinline]] void CheckOpFailedFor(const char* file, int line,
                                                             const char* condition, const L& left,
                                                             const R& right) {
  CheckOpFailed(file, line, condition, MakeCheckOperand(left), MakeCheckOperand(right));
}

template <typename S>
[[noreturn, gnu::cold, gnu::noinline]] void CheckOkFailed(const char* file, int line,
                                                          const char* condition, const S& status) {
  if constexpr (requires { status.status(); }) {
    CheckFailed(file, line, condition, status.status().ToString().c_str());
  } else {
    CheckFailed(file, line, condition, status.ToString().c_str());
  }
}

}  // namespace dunlin::internal

#define DUNLIN_CHECK(condition, ...)                         \
  (__builtin_expect(static_cast<bool>(condition), 1)         \
       ? static_cast<void>(0)                                \
       : ::dunlin::internal::CheckFailed(__FILE__, __LINE__, \
                                         #condition __VA_OPT__(, ) __VA_ARGS__))

#define DUNLIN_CHECK_OP_(op, left, right)                                                \
  do {                                                                                   \
    const auto dunlin_left_ = (left);                                                    \
    const auto dunlin_right_ = (right);                                                  \
    if (__builtin_expect(!(dunlin_left_ op dunlin_right_), 0)) {                         \
      ::dunlin::internal::CheckOpFailedFor(__FILE__, __LINE__, #left " " #op " " #right, \
                                           dunlin_left_, dunlin_right_);                 \
    }                                                                                    \
  } while (false)

#define DUNLIN_CHECK_EQ(left, right) DUNLIN_CHECK_OP_(==, left, right)
#define DUNLIN_CHECK_NE(left, right) DUNLIN_CHECK_OP_(!=, left, right)
#define DUNLIN_CHECK_LT(left, right) DUNLIN_CHECK_OP_(<, left, right)
#define DUNLIN_CHECK_LE(left, right) DUNLIN_CHECK_OP_(<=, left, right)
#define DUNLIN_CHECK_GT(left, right) DUNLIN_CHECK_OP_(>, left, right)
#define DUNLIN_CHECK_GE(left, right) DUNLIN_CHECK_OP_(>=, left, right)

#define DUNLIN_CHECK_OK(expression)                                                       \
  do {                                                                                    \
    const auto& dunlin_status_ = (expression);                                            \
    if (__builtin_expect(!dunlin_status_.ok(), 0)) {                                      \
      ::dunlin::internal::CheckOkFailed(__FILE__, __LINE__, #expression, dunlin_status_); \
    }                                                                                     \
  } while (false)

#define DUNLIN_UNREACHABLE(...) \
  ::dunlin::internal::CheckFailed(__FILE__, __LINE__, "unreachable" __VA_OPT__(, ) __VA_ARGS__)

// Unevaluated in release builds, yet always compiled.
#ifdef NDEBUG
#define DUNLIN_DCHECK(condition, ...) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define DUNLIN_DCHECK(condition, ...) DUNLIN_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif
