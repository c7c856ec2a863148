#include <string>

#include "tests/support/linearizability/history.h"

namespace dunlin::linearizability {
namespace {

std::string NameOf(Kind kind) {
  switch (kind) {
    case Kind::kGet:
      return "get";
    case Kind::kPut:
      return "put";
    case Kind::kPutIfAbsent:
      return "put-if-absent";
    case Kind::kReplace:
      return "replace";
    case Kind::kCompareAndSet:
      return "compare-and-set";
    case Kind::kAdd:
      return "add";
    case Kind::kRemove:
      return "remove";
    case Kind::kTouch:
      return "touch";
  }
  return "?";
}

std::string NameOf(Answer answer) {
  switch (answer) {
    case Answer::kOk:
      return "ok";
    case Answer::kNotFound:
      return "not found";
    case Answer::kExists:
      return "exists";
    case Answer::kVersionMismatch:
      return "version mismatch";
    case Answer::kNotInteger:
      return "not an integer";
    case Answer::kOverflow:
      return "overflow";
    case Answer::kUnknown:
      return "unknown";
    case Answer::kNoEffect:
      return "no effect";
  }
  return "?";
}

std::string TextOf(const Value& value) {
  switch (value.type) {
    case Value::Type::kNotSeen:
      return "";
    case Value::Type::kOpaque:
      return " value #" + std::to_string(static_cast<uint64_t>(value.number));
    case Value::Type::kInteger:
      return " value " + std::to_string(value.number);
  }
  return "?";
}

std::string Arguments(const Operation& o) {
  std::string text;
  if (o.kind != Kind::kGet) text += TextOf(o.value);
  if (o.kind == Kind::kCompareAndSet) text += " expecting version " + std::to_string(o.expected);
  if (o.kind == Kind::kAdd) text += " " + std::to_string(o.delta);
  if (o.initial.has_value()) text += " to " + std::to_string(*o.initial);
  if (o.ttl.has_value()) text += " for " + std::to_string(*o.ttl) + " ns";
  return text;
}

}  // namespace

std::string Describe(const Operation& o) {
  std::string text = "[" + std::to_string(o.invoked) + ", " +
                     (o.responded == kNever ? "never" : std::to_string(o.responded)) + "] client " +
                     std::to_string(o.client) + ": " + NameOf(o.kind) + Arguments(o) + " -> " +
                     NameOf(o.answer);
  if (o.kind == Kind::kGet) text += TextOf(o.value);
  if (o.version != 0) text += ", version " + std::to_string(o.version);
  if (o.kind == Kind::kAdd && o.answer == Answer::kOk) text += ", sum " + std::to_string(o.sum);
  if (o.ttl_left_seen) {
    text +=
        o.ttl_left.has_value() ? ", " + std::to_string(*o.ttl_left) + " ns left" : ", no expiry";
  }
  return text;
}

}  // namespace dunlin::linearizability
