#pragma once

#include "tests/support/linearizability/history.h"

namespace dunlin::linearizability {

// Short names to write histories with.

inline Operation At(int64_t invoked, int64_t responded, Operation o) {
  o.invoked = invoked;
  o.responded = responded;
  return o;
}
inline Operation Unknown(int64_t invoked, Operation o) {
  o.answer = Answer::kUnknown;
  o.version = 0;
  return At(invoked, kNever, o);
}
inline Operation Fails(Operation o, Answer answer, uint64_t version = 0) {
  o.answer = answer;
  o.version = version;
  return o;
}

inline Operation Ok(Kind kind, uint64_t version) {
  return {.kind = kind, .answer = Answer::kOk, .version = version};
}
// Values bear the number of their version, unless told otherwise.
inline Operation Put(uint64_t version) {
  Operation o = Ok(Kind::kPut, version);
  o.value = Value::Opaque(version);
  return o;
}
inline Operation PutFor(int64_t ttl, uint64_t version) {
  Operation o = Put(version);
  o.ttl = ttl;
  return o;
}
inline Operation PutInteger(int64_t number, uint64_t version) {
  Operation o = Put(version);
  o.value = Value::Integer(number);
  return o;
}
inline Operation PutIfAbsent(uint64_t version) {
  Operation o = Put(version);
  o.kind = Kind::kPutIfAbsent;
  return o;
}
inline Operation Replace(uint64_t version) {
  Operation o = Put(version);
  o.kind = Kind::kReplace;
  return o;
}
inline Operation CompareAndSet(uint64_t expected, uint64_t version) {
  Operation o = Put(version);
  o.kind = Kind::kCompareAndSet;
  o.expected = expected;
  return o;
}
inline Operation Add(int64_t delta, int64_t sum, uint64_t version) {
  Operation o = Ok(Kind::kAdd, version);
  o.delta = delta;
  o.sum = sum;
  return o;
}
inline Operation Touch(uint64_t version) { return Ok(Kind::kTouch, version); }
inline Operation TouchFor(int64_t ttl, uint64_t version) {
  Operation o = Touch(version);
  o.ttl = ttl;
  return o;
}
inline Operation Remove() { return Ok(Kind::kRemove, 0); }
inline Operation Get(uint64_t version, uint64_t value) {
  Operation o = Ok(Kind::kGet, version);
  o.value = Value::Opaque(value);
  return o;
}
inline Operation Get(uint64_t version) { return Get(version, version); }
inline Operation GetInteger(uint64_t version, int64_t number) {
  Operation o = Ok(Kind::kGet, version);
  o.value = Value::Integer(number);
  return o;
}
inline Operation Head(uint64_t version) { return Ok(Kind::kGet, version); }
inline Operation NoRecord() { return {.kind = Kind::kGet, .answer = Answer::kNotFound}; }

}  // namespace dunlin::linearizability
