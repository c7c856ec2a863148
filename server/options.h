#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/base/log.h"
#include "common/base/options.h"

namespace dunlin {

// Who executes the atomics of clients; kAuto: the RDMA adapter where that is safe.
enum class Atomics : size_t { kAuto = 0, kNic = 1, kCpu = 2 };
// Sessions on shared memory; kAuto: unless an RDMA adapter executes the atomics.
enum class ShmSessions : size_t { kAuto = 0, kAlways = 1, kNever = 2 };

// What happens when memory is full.
enum class Mode : size_t {
  kStore = 0,  // writes are refused
  kCache = 1,  // what was used least lately makes room
};

enum class HugePages : size_t { kAuto = 0, kAlways = 1, kNever = 2 };

// What the server is told. Durations are in nanoseconds, as OptionSet reads them.
struct ServerOptions {
  std::string socket;
  std::string socket_owner;  // "user", "user:group" or ":group"; empty: as created
  std::string socket_mode = "0660";
  std::string tcp;          // "host:port"; empty: no sessions over TCP
  std::string rdma;         // the same, over RDMA
  size_t atomics = 0;       // Atomics
  size_t shm_sessions = 0;  // ShmSessions
  int64_t peer_timeout = 10'000'000'000;
  uint64_t memory = uint64_t{1} << 30;
  size_t mode = 0;      // Mode
  int64_t records = 0;  // 0: as many as `memory` holds at 128 bytes each
  int64_t grace = 1'000'000'000;
  uint64_t max_value_size = uint64_t{64} << 20;
  int64_t max_sessions = 4096;
  size_t huge_pages = 0;  // HugePages
  int64_t numa_node = -1;
  std::string region_dir;  // empty: anonymous memory (memfd)
  bool lock_memory = false;
  int64_t patrol_percent = 2;
  int64_t patrol_period = 10'000'000'000;
  int64_t lock_patience = 1'000'000'000;
  int64_t hold_patience = 10'000'000'000;
  std::string snapshot_dir;                    // empty: no snapshots
  int64_t snapshot_interval = 60'000'000'000;  // 0: on demand only
  int64_t snapshot_keep = 2;
  int64_t snapshot_percent = 50;
  int64_t snapshot_id = 0;  // to start from; 0: the newest that is good
  bool start_empty = false;
  int64_t drain_timeout = 5'000'000'000;
  size_t log_format = 0;  // LogFormat
  size_t log_level = 1;   // LogLevel

  Mode memory_mode() const { return static_cast<Mode>(mode); }
  HugePages huge() const { return static_cast<HugePages>(huge_pages); }
};

// Declares every option of dunlin-server. `options` holds the defaults and outlives the set.
void DeclareOptions(ServerOptions& options, OptionSet& set);

// Where the socket is unless told otherwise: /run/dunlin/dunlin.sock for root, else dunlin.sock in
// $XDG_RUNTIME_DIR, else /tmp/dunlin-UID.sock.
std::string DefaultSocketPath(bool root, const char* xdg_runtime_dir, uint32_t uid);

// What one option alone cannot say.
absl::Status CheckOptions(const ServerOptions& options);

// `mode`: octal digits. OK exactly if ParseMode succeeds.
absl::StatusOr<uint32_t> ParseMode(std::string_view mode);

// The lines behind --help's list of options.
std::string ExitCodesHelp();

}  // namespace dunlin
