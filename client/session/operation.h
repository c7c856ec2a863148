#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "common/base/deadline.h"
#include "common/fabric/chain.h"
#include "common/protocol/get.h"
#include "common/protocol/modify.h"
#include "common/protocol/put.h"
#include "common/protocol/resolve.h"
#include "common/protocol/scan.h"
#include "dunlin/session.h"

namespace dunlin {

// Inside a Session these names are taken by its calls.
using GetMachine = Get;
using PutMachine = Put;
using ModifyMachine = Modify;
using ResolveMachine = Resolve;

// One operation under way in a session: the state machine with all that a driver keeps for it.
// Lives in the session's table; its index there is its number in lock words. The chain and the
// scratch are what a fabric reads and writes, so an operation's slot is used again only after its
// chain came back.
struct Operation {
  enum class Stage : uint8_t {
    kFree,
    kPosted,   // its chain is with the channel
    kWaiting,  // for somebody else's lock or move; stepped again at `not_before`
    kLost,     // its write's fate is unknown: to be resolved over a new connection
    kDone,     // outcome is known; the callback is still to run
  };

  Chain chain;
  uint64_t posted = 0;  // tick
  std::variant<std::monostate, GetMachine, PutMachine, ModifyMachine, ScanBucket, ResolveMachine>
      machine;
  Key key;

  Stage stage = Stage::kFree;
  bool has_hint = false;
  bool hint_aging = false;
  SlotWord hint_word;
  uint32_t number = 0;
  uint32_t lock_number = 0;  // in lock words: the number, and which turn it is in its slot
  Outcome outcome = Outcome::kInternal;

  std::unique_ptr<std::byte[]> scratch;
  uint32_t scratch_bytes = 0;

  // Where a value goes: the caller's buffer, or a string that grows with it.
  std::span<std::byte> buffer;
  std::string* string = nullptr;

  uint64_t batch = 0;  // of the block in the machine's hands
  bool holds_block = false;
  uint64_t version = 0;  // of the block last supplied
  bool overdue = false;  // its deadline passed while its chain was with the channel

  // Where a connection can be lost: the machine as it was at the beginning of the call, to begin
  // again when it is certain that nothing was done.
  std::variant<std::monostate, GetMachine, PutMachine, ModifyMachine> fresh;
  ResolveMachine::Lost lost;
  uint32_t restarts = 0;
  uint64_t incarnation = 0;  // of the server when the call began
  // The value that a touch copies, where the fabric can't leave it in place.
  std::vector<std::byte> value;
  uint32_t waits = 0;
  Milliseconds patience{0};          // from the first look at the clock
  std::optional<Deadline> deadline;  // unset: the clock has not been looked at
  int64_t not_before = 0;
  int64_t examine_at = 0;  // when the server is to look after the lock that it waits for; 0: unset
  uint64_t began = 0;      // tick

  // ScanBucket: where entries go, how many were there before this bucket, and the pass they are of.
  std::vector<ScanEntry>* scan_entries = nullptr;
  const ScanOptions* scan_options = nullptr;
  size_t scan_first = 0;
  uint32_t scan_pass = 0;

  GetResult own_get;  // of a submitted operation
  WriteResult own_write;
  GetResult* get_result = nullptr;
  WriteResult* write_result = nullptr;
  std::function<void(const GetResult&)> get_done;
  std::function<void(const WriteResult&)> write_done;
};

}  // namespace dunlin
