#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dunlin/outcome.h"

namespace dunlin {

// Keys and values are bytes, any bytes. A key has 1 to 65,535 of them, a value 0 to the server's
// limit (64 MiB unless configured otherwise).
using Bytes = std::span<const std::byte>;

inline Bytes AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

using Milliseconds = std::chrono::milliseconds;

struct CallOptions {
  // Of this call, from its start; unset: the session's default. At its end a call that has not
  // changed anything answers kDeadlineExceeded; a write already under way is waited for, as shared
  // memory answers at once, or ends in kUnknown.
  std::optional<Milliseconds> deadline = std::nullopt;
};

// What a get learns beside the value.
struct GetResult {
  Outcome outcome = Outcome::kInternal;
  uint64_t value_bytes = 0;              // after kOk and kBufferTooSmall
  uint64_t version = 0;                  // equality is its only meaning; never 0, never used twice
  std::optional<Milliseconds> ttl_left;  // unset: never expires
  bool ok() const { return outcome == Outcome::kOk; }
};

// A value with what belongs to it.
struct Entry {
  std::string value;
  uint64_t version = 0;
  std::optional<Milliseconds> ttl_left;
};

enum class PutMode : uint8_t { kAlways, kIfAbsent, kIfPresent };

struct PutOptions {
  PutMode mode = PutMode::kAlways;
  std::optional<Milliseconds> ttl = std::nullopt;       // at least 1 ms; unset: never expires
  std::optional<Milliseconds> deadline = std::nullopt;  // as in CallOptions
};

struct WriteResult {
  Outcome outcome = Outcome::kInternal;
  uint64_t version = 0;  // after kOk of the value written; after kVersionMismatch of the one found
  int64_t sum = 0;       // add, after kOk
  bool ok() const { return outcome == Outcome::kOk; }
};

struct AddOptions {
  // If the key is absent it is put with initial + delta; unset: kNotFound then.
  std::optional<int64_t> initial = std::nullopt;
  std::optional<Milliseconds> deadline = std::nullopt;  // as in CallOptions
};

// What a session has done so far. Plain counters; the session's thread may read them at any time.
struct Stats {
  uint64_t gets = 0, puts = 0, removes = 0, compare_and_sets = 0, adds = 0, touches = 0;
  uint64_t hits = 0, misses = 0;  // of gets
  uint64_t failures = 0;          // operations that ended in an error
  uint64_t round_trips = 0;       // chains waited for, one after the other; a batch's chains
                                  // posted together count once
  uint64_t chains = 0;            // chains posted
  uint64_t verbs = 0;             // READ, WRITE and CAS posted
  uint64_t reads = 0, writes = 0, atomics = 0;
  uint64_t retries = 0;   // waits for a lock or a move, directory refreshes
  uint64_t absorbed = 0;  // puts that took place just before another one
  uint64_t cache_hits = 0, cache_misses = 0;
  uint64_t lane_messages = 0;  // requests to the server (blocks, returns)
  uint64_t reconnects = 0;     // connections made after the first was lost
  uint64_t resolved = 0;       // writes whose fate was looked for after their connection was lost
  // By how much this session's idea of the server's clock, by which it judges times to live, may be
  // off: half of what it took to ask for it. 0 on shared memory. Asked for again before long if it
  // is more than a millisecond, as when the process was held up in the midst of it.
  std::chrono::nanoseconds clock_error{0};
};

}  // namespace dunlin
