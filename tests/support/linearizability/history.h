#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace dunlin::linearizability {

// What clients asked of one key, and what they were told. Times are nanoseconds of one monotonic
// time line that all clients share.

enum class Kind : uint8_t {
  kGet,
  kPut,
  kPutIfAbsent,
  kReplace,  // put if present
  kCompareAndSet,
  kAdd,
  kRemove,
  kTouch,
};

enum class Answer : uint8_t {
  kOk,
  kNotFound,
  kExists,           // put-if-absent
  kVersionMismatch,  // compare-and-set
  kNotInteger,       // add
  kOverflow,         // add
  // None came, or one that says as much: the client died, or lost its connection. May have taken
  // effect at any time after the invocation, or never.
  kUnknown,
  kNoEffect,  // an error that says for certain that nothing was changed
};

// Contents of a record. Opaque contents are told apart by a number that the caller gives them; it
// pays to give each write a number of its own, for then who wrote what was read is known.
struct Value {
  enum class Type : uint8_t { kNotSeen, kOpaque, kInteger };
  Type type = Type::kNotSeen;
  int64_t number = 0;

  static Value Opaque(uint64_t number) { return {Type::kOpaque, static_cast<int64_t>(number)}; }
  static Value Integer(int64_t number) { return {Type::kInteger, number}; }
  bool operator==(const Value&) const = default;
};

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

struct Operation {
  Kind kind = Kind::kGet;
  Answer answer = Answer::kUnknown;
  uint32_t client = 0;  // for messages only
  int64_t invoked = 0;
  int64_t responded = kNever;

  // What a put, put-if-absent, replace or compare-and-set writes; what a get that is kOk read.
  Value value = {};
  // After kOk of the value written or read, after kVersionMismatch of the one found; 0: not known.
  // No two writes have the same one; an absorbed put's is never seen. Touch and add write, too.
  uint64_t version = 0;
  uint64_t expected = 0;  // compare-and-set
  int64_t delta = 0;      // add
  std::optional<int64_t> initial = std::nullopt;
  int64_t sum = 0;  // add, after kOk

  // Writes: the time to live asked for; unset: never expires (add: as before).
  std::optional<int64_t> ttl = std::nullopt;
  // Gets that are kOk: what they said is left; unset: never expires.
  std::optional<int64_t> ttl_left = std::nullopt;
  bool ttl_left_seen = false;  // ttl_left says something
};

// One line, for people.
std::string Describe(const Operation& operation);

}  // namespace dunlin::linearizability
