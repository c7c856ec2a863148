#include "common/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace dunlin::internal {
namespace {

void Print(const CheckOperand& operand) {
  switch (operand.kind) {
    case CheckOperand::Kind::kSigned:
      std::fprintf(stderr, "%lld", operand.as_signed);
      break;
    case CheckOperand::Kind::kUnsigned:
      std::fprintf(stderr, "%llu", operand.as_unsigned);
      break;
    case CheckOperand::Kind::kPointer:
      std::fprintf(stderr, "%p", operand.as_pointer);
      break;
    case CheckOperand::Kind::kDouble:
      std::fprintf(stderr, "%.17g", operand.as_double);
      break;
  }
}

}  // namespace

void CheckFailed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition,
               *message != '\0' ? ": " : "", message);
  std::abort();
}

void CheckOpFailed(const char* file, int line, const char* condition, CheckOperand left,
                   CheckOperand right) {
  std::fprintf(stderr, "%s:%d: check failed: %s (", file, line, condition);
  Print(left);
  std::fputs(" against ", stderr);
  Print(right);
  std::fputs(")\n", stderr);
  std::abort();
}

}  // namespace dunlin::internal
