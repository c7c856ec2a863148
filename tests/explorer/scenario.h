#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/explorer/world.h"

namespace dunlin::explorer {

enum class OpKind : uint8_t {
  kGet,
  kPut,
  kIfAbsent,
  kReplace,
  kCas,
  kAdd,
  kTouch,
  kRemove,
  kScan,
};
std::string_view NameOf(OpKind kind);

// Numbers of operations are what the model calls a value's writer by. 1..3: the initial records.
inline constexpr uint8_t kFirstClientOp = 4;
inline constexpr uint8_t kOpsPerClient = 4;
constexpr uint8_t OpNumber(uint32_t client, uint32_t index) {
  return static_cast<uint8_t>(kFirstClientOp + client * kOpsPerClient + index);
}
// A version says which operation made it, and with which of its blocks.
constexpr uint64_t VersionOf(uint8_t op_number, uint32_t nth) {
  return 1000 + op_number * 4u + nth;
}
constexpr uint8_t WriterOf(uint64_t version) {
  return version < 1000 ? 0 : static_cast<uint8_t>((version - 1000) / 4);
}

// A value of more digits than an integer has.
inline constexpr int16_t kLongValue = 9999;
std::string TextOf(int16_t value);

struct Op {
  OpKind kind = OpKind::kGet;
  uint8_t key = 0;
  bool cached = false;
  int16_t value = 0;     // put, if-absent, replace, cas; add: the delta; 0: a number of its own
  uint8_t expiry = 0;    // tick
  uint8_t expected = 1;  // cas: the writer of the version expected; 0: the one last returned here
  bool needs_reuse = false;  // starts only when a block can be reused
  std::string text = {};     // the value's bytes, filled in by Prepare
};

struct ClientPlan {
  std::vector<Op> ops = {};
  uint8_t clock_lag = 0;  // its clock is behind the tick by this
  bool can_write = true;
  bool may_die = false;
  bool may_lose = false;         // its session may break
  bool fresh_directory = false;  // each operation begins with the newest
  uint8_t after_splits = 0;      // begins when so many subtables are retired
};

struct InitialRecord {
  uint8_t key = 0;
  uint8_t bucket = 0;
  uint8_t slot = 0;
  int16_t value = 0;
  uint8_t expiry = 0;
  bool unconditional = true;
};

struct KeyPlan {
  std::string bytes = {};
  uint64_t hash = 0;
  bool touched = true;  // some operation is about it; otherwise its slot never changes
};

struct Scenario {
  std::string name;
  std::string group;
  uint32_t slots = 1;
  SizeClass block_class = 2;
  uint32_t blocks = 8;
  std::vector<KeyPlan> keys;
  std::vector<InitialRecord> initial;
  std::vector<ClientPlan> clients;
  uint8_t ticks = 0;
  uint8_t grace = 2;
  uint8_t deaths = 0;
  uint8_t losses = 0;
  uint8_t relocations = 0;
  uint8_t relocated_key = 0;
  uint8_t freezes = 0;
  uint8_t splits = 0;
  uint8_t sweeps = 0;            // and one more when an orphan is left in the end
  uint8_t cancelled_splits = 0;  // that may be given up, and begin anew
  bool reuse = false;            // blocks are given out again after the grace period
  uint32_t reused_blocks = ~0u;  // the only ones that are
  bool recovery = true;          // locks of fenced sessions are released
  bool headers_move = false;     // sample bucket headers as words that change
  bool index_may_fill = false;
  bool index_grows = false;  // a put that finds it full waits for a split
  bool references = false;   // READs by reference where the machines allow it
  bool follows = false;      // records are read along with the buckets that name them
  bool one_session = false;  // the clients are operations of one session
  bool long_only = false;    // not in the short set
  uint32_t max_attempts = 10;

  // Fills in what follows from the rest.
  void Prepare();
};

inline constexpr uint8_t kStartTick = 8;

// A key's hash that puts it in `first` or else in the other of the two buckets.
constexpr uint64_t HashOf(uint32_t fingerprint, uint32_t first) {
  return uint64_t{fingerprint} << 32 | uint64_t{1 - first} << 16 | first;
}

// All scenarios, in the order in which they run.
std::vector<Scenario> AllScenarios();

}  // namespace dunlin::explorer
