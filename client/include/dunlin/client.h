#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "dunlin/export.h"
#include "dunlin/session.h"
#include "dunlin/types.h"

namespace dunlin {

struct ClientOptions {
  std::string name = {};  // shown in the server's status; empty: the program's name
  // For Connect and OpenSession, and the longest that a call spends on making a lost connection
  // anew (its own deadline holds, too).
  Milliseconds connect_deadline{1000};
  bool read_only = false;  // sessions can't write; shared memory is mapped read-only
  // Connect opens a session, to see that the region can be used. Who only wants Ping and Status
  // does without, also where the server would refuse it a session; Layout() then knows nothing
  // before the first OpenSession.
  bool sessions = true;
  // Within this time a server over a network that is gone is noticed, also by sessions that are
  // idle: the client has a thread and a connection that look for it. 0: none; then a session
  // notices when a call of its own fails.
  Milliseconds server_timeout{1000};
};

struct SessionOptions {
  Milliseconds default_deadline{1000};  // of calls without one of their own
  // Location cache: remembers where keys were found, on shared memory with 8 bytes an entry (room
  // for twice the keys loses hardly any), elsewhere with 64 bytes and the rest of keys over 16
  // bytes. 0 switches it off.
  uint64_t location_cache_bytes = 4u << 20;
  uint32_t max_in_flight = 64;  // operations submitted and not yet completed
};

struct ServerSession {
  uint32_t id = 0;
  uint32_t pid = 0;
  std::string name;
  bool read_only = false;
  uint64_t age_ms = 0;
  uint64_t blocks_in_hand = 0;
  bool in_call = false;
  uint64_t in_call_ms = 0;
  std::string peer;  // "shm", "tcp 10.0.0.1:50312" ...
};

struct ServerClassUse {
  uint32_t size_class = 0;
  uint64_t block_bytes = 0;  // 0: runs of pages
  uint64_t blocks_used = 0;
  uint64_t blocks_free = 0;
  uint64_t bytes = 0;
};

// The server's background walk of its index. Counters since its start, and its last whole walk.
struct ServerPatrol {
  uint64_t walks = 0;
  uint64_t walk_ms = 0;         // that the last one took
  uint64_t walk_permille = 0;   // how far the one under way is, in 1/1000
  uint64_t sweeps = 0;          // mark and sweep, two walks each
  uint64_t swept_blocks = 0;    // that were nobody's
  uint64_t expired = 0;         // records reclaimed after their time to live
  uint64_t relocated = 0;       // records moved out of sparse slabs
  uint64_t expiring_items = 0;  // records with a time to live, in the last walk
  uint64_t locks_examined = 0;  // for clients that waited for one
  uint64_t locks_released = 0;  // of sessions that were no more
  // The longest that such a lock was held on to, since a client that waited for it (2 ms) asked and
  // the holder's end was noticed.
  uint64_t lock_release_ms_max = 0;
  uint64_t cpu_nanos = 0;  // that it took
  double cpu_share = 0;    // of one core, that it may take
};

// The server's snapshots. Counters since its start.
struct ServerSnapshots {
  uint64_t interval_ms = 0;  // from the start of one to that of the next; 0: on demand only
  double cpu_share = 0;      // of one core, that passes may take
  uint64_t last_id = 0;      // the newest; 0: there is none
  uint64_t last_records = 0;
  int64_t last_finished_unix_ms = 0;
  // What a crash at this moment would lose: writes acknowledged within so many milliseconds. Unset:
  // all since the server's start.
  std::optional<uint64_t> at_risk_ms;
  uint64_t last_pass_ms = 0;  // from the start of the last pass until it was on disk
  uint64_t made = 0;
  uint64_t unchanged = 0;  // passes that found nothing to write
  uint64_t failed = 0;
  std::string trouble;  // why the last attempt failed; empty if it didn't
  bool under_way = false;
  double progress = 0;           // of the one under way, 0 to 1
  uint64_t damaged_records = 0;  // that the last pass had to leave out
  uint64_t memory_bytes = 0;     // what the comparison with the last snapshot takes
  uint64_t cpu_nanos = 0;        // that passes took in the server's thread
  uint64_t loaded_id = 0;        // what the server was started from; 0: nothing
  uint64_t loaded_records = 0;
  uint64_t expired_records = 0;      // of that snapshot, left out at the start
  std::vector<std::string> skipped;  // snapshots that could not be used at the start, and why
};

// A snapshot in the server's directory.
struct SnapshotSummary {
  uint64_t id = 0;
  std::string trouble;  // why it can't be used; empty if it can
  uint64_t records = 0;
  uint64_t bytes = 0;       // of all keys and values; 0 with records: the server does not know
  uint64_t file_bytes = 0;  // on disk; snapshots share most of it with each other
  int64_t started_unix_ms = 0, finished_unix_ms = 0;
  bool full = false;                  // its pass wrote every record
  uint64_t changed = 0, deleted = 0;  // entries that its pass wrote, and removed
  uint32_t layout_version = 0;
  std::string release;  // of the server that made it
};

struct ServerStatus {
  std::string release;
  std::string state;
  uint32_t layout_version = 0;
  uint64_t incarnation = 0;
  uint64_t uptime_ms = 0;
  uint64_t tick = 0;
  uint64_t tick_lag_ms_max = 0;
  uint64_t region_bytes = 0;
  bool huge_pages = false;
  std::string numa;
  uint64_t heap_bytes = 0, heap_used_bytes = 0, heap_grace_bytes = 0, heap_free_bytes = 0;
  uint64_t allocator_bytes = 0;
  uint64_t index_bytes = 0, index_slots = 0, subtables = 0;
  bool counted = false;  // items and locks_held are exact, of this call
  uint64_t items = 0, locks_held = 0;
  uint32_t grace_ms = 0;
  uint64_t max_value_bytes = 0;
  uint32_t max_key_bytes = 0;
  uint64_t sessions_opened = 0, sessions_lost = 0, connections_refused = 0, returns_refused = 0;
  uint64_t heap_index_bytes = 0;   // of the heap, taken by the growing index
  uint64_t index_spare_bytes = 0;  // index memory that serves no subtable at the moment
  uint64_t sessions_killed = 0;    // ended by force: others could not wait for them any longer
  std::string mode;                // "store" or "cache"
  uint64_t splits = 0;             // of subtables
  uint64_t split_ms_max = 0;       // longest time that writes to one subtable waited for its split
  uint64_t evicted = 0;            // records that made room for others
  ServerPatrol patrol;
  std::optional<ServerSnapshots> snapshots;  // unset: the server makes none
  std::string atomic_domain;                 // who executes atomics: "cpu" or "nic"
  std::vector<std::string> endpoints;        // where it listens besides its Unix socket
  std::vector<ServerClassUse> classes;
  std::vector<ServerSession> sessions;
};

// The layout of the region as this client sees it, for `kvctl layout` and for the curious.
struct RegionLayout {
  uint32_t layout_version = 0;
  uint64_t region_bytes = 0;
  uint64_t session_offset = 0, directory_offset = 0, index_offset = 0, heap_offset = 0;
  uint64_t index_bytes = 0, heap_bytes = 0;
  uint32_t session_words = 0, slots_per_bucket = 0, buckets_per_subtable = 0;
  uint32_t directory_depth = 0;
  uint64_t incarnation = 0;
};

// A connection of this process to one server. Thread safe. It opens sessions, one for each thread
// that reads and writes, and asks the server about itself. Must outlive its sessions.
//
// After fork() the child can use neither the client nor its sessions (every call answers with an
// error); it makes a client of its own.
class DUNLIN_EXPORT Client {
 public:
  // `target` says where the server is, and over what it is to be reached:
  //   shm:///run/dunlin/dunlin.sock   shared memory; the path of the server's Unix socket
  //   tcp://host:7471                 TCP: the server executes the operations
  //   rdma://host:7471                RDMA: InfiniBand, RoCEv2 or iWARP
  // or several of them, separated by commas: the first that answers is taken, target() tells which,
  // and passed_over() why not one before it. That choice is kept: a session that loses its
  // connection looks for the same target again.
  // Errors: InvalidArgument (target), Unavailable (nobody listens there), DeadlineExceeded,
  // FailedPrecondition (another layout version, a foreign or damaged region: the message says what
  // was expected and what was found), PermissionDenied (the socket's or the region's mode),
  // ResourceExhausted (the server has no room for a session).
  static absl::StatusOr<std::unique_ptr<Client>> Connect(std::string_view target,
                                                         const ClientOptions& options = {});
  virtual ~Client() = default;

  virtual absl::StatusOr<std::unique_ptr<Session>> OpenSession(
      const SessionOptions& options = {}) = 0;

  // The round trip to the server's process, and its release.
  struct Pong {
    std::string release;
    std::chrono::nanoseconds round_trip{0};
  };
  virtual absl::StatusOr<Pong> Ping() = 0;

  // `count_index`: have the server walk its index for the exact number of items.
  virtual absl::StatusOr<ServerStatus> Status(bool count_index = false) = 0;

  // Has the server free what is nobody's (blocks that a client unlinked but never returned before
  // it died), and tells its status after that, counted. Takes two walks of the index and two grace
  // periods; DeadlineExceeded if that is more than `patience`.
  virtual absl::StatusOr<ServerStatus> Sweep(Milliseconds patience) = 0;

  // Has the server make a snapshot that holds what was acknowledged before this call, and returns
  // when it is on disk. DeadlineExceeded: not within `patience`; it may come yet.
  // FailedPrecondition: the server makes none, or the directory is not its own any more.
  // ResourceExhausted, Internal: the disk is full, or sick; the snapshots before are as they were.
  // Holds up no other call on this client.
  virtual absl::StatusOr<SnapshotSummary> CreateSnapshot(Milliseconds patience) = 0;
  // All that there are, newest first, the damaged ones too.
  virtual absl::StatusOr<std::vector<SnapshotSummary>> ListSnapshots() = 0;
  // FailedPrecondition: it is the newest usable one, or what the next one builds on. NotFound.
  virtual absl::Status DeleteSnapshot(uint64_t id) = 0;

  virtual RegionLayout Layout() const = 0;

  // Of those given to Connect, the one in use.
  virtual const std::string& target() const = 0;
  // Those before it, each with the reason why it was not taken.
  virtual const std::vector<std::string>& passed_over() const = 0;
};

}  // namespace dunlin
