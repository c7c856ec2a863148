#pragma once

#include <cstdint>
#include <string>

namespace dunlin::simulator {

// What carries chains.
enum class Carrier : uint8_t {
  kOneSided,  // verb by verb, as an adapter with atomics does
  kMixed,     // up to the first atomic; the rest by the server, as on iWARP
  kFrames,    // the server executes whole chains, as over TCP
};

// Broken on purpose, to show that it is noticed.
enum class Breakage : uint8_t {
  kNone,
  kNoGrace,       // the server reuses blocks without a grace period
  kLateFence,     // it recovers from a client whose connection can still write
  kLostWrite,     // a WRITE may be done after the atomic behind it
  kForgetfulCas,  // a completion may come for an atomic that was never executed
};

// All that may go wrong in a run, and what the run is like. Durations are in nanoseconds of
// simulated time; "every" is a mean, 0: never.
struct Faults {
  // The load.
  uint32_t clients = 4;
  uint32_t operations = 2'000;  // of all clients, about
  uint32_t keys = 16;
  uint32_t hot_percent = 50;  // of the operations on the first three keys
  uint32_t ttl_percent = 10;  // of the writes that can bear one
  uint64_t largest_value = 4'000;
  uint32_t large_percent = 5;  // of the values above 200 bytes
  int64_t think = 100'000;     // between two calls of one client; mean
  uint64_t cache_bytes = 64 * 1024;

  // The server.
  uint64_t memory = uint64_t{4} << 20;
  uint32_t grace_ms = 100;
  uint32_t buckets = 1024;  // of a subtable
  bool cache = false;       // records make room for others
  uint64_t patrol_period_ms = 10'000;
  uint64_t lock_patience_ms = 1'000;
  int64_t stall_every = 0;
  int64_t longest_stall = 0;
  int64_t crash_every = 0;
  int64_t longest_downtime = 0;

  // The network.
  Carrier carrier = Carrier::kOneSided;
  int64_t latency = 2'000;     // one way; mean of the usual part
  uint32_t tail_one_in = 200;  // messages and chains that take up to longest_delay
  int64_t longest_delay = 0;
  uint32_t pieces = 4;  // that a READ or WRITE falls into, at most
  int64_t cut_every = 0;
  uint32_t silent_percent = 0;  // of the cuts that nobody is told of
  int64_t loss_report_every = 0;

  // The clients.
  int64_t kill_every = 0;
  int64_t stop_every = 0;
  int64_t longest_stop = 0;
  uint32_t pause_one_in = 0;  // looks at the clock at which the core goes to others
  int64_t longest_pause = 0;

  // The clocks.
  int64_t drift_ppm = 0;  // of each client's against the server's, at most
  int64_t jump_every = 0;
  int64_t longest_jump = 0;  // forward

  Breakage breakage = Breakage::kNone;

  // By how much two sides may disagree about when a record expires.
  int64_t ExpirySlack() const;
};

// A run's faults: each kind is absent in many runs, so that one doesn't hide another.
Faults DrawFaults(uint64_t seed);

// Breaks the rule, and sees to it that what the rule is for happens often.
void Break(Breakage breakage, Faults* faults);

std::string Describe(const Faults& faults);

}  // namespace dunlin::simulator
