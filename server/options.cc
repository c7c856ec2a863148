#include "server/options.h"

#include <sys/un.h>

#include "common/base/host_port.h"
#include "common/base/size_text.h"
#include "common/base/status.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/layout/slot.h"

namespace dunlin {

void DeclareOptions(ServerOptions& o, OptionSet& set) {
  // kvctl's: where to find a server.
  set.IgnoreEnvironment("DUNLIN_SERVER");
  set.AddString("socket", &o.socket,
                "Unix socket to listen on; clients on this machine connect here. Default: "
                "/run/dunlin/dunlin.sock for root, else $XDG_RUNTIME_DIR/dunlin.sock");
  set.AddString(
      "socket-owner", &o.socket_owner,
      "owner of the socket: user, user:group or :group. Empty: whoever starts the server");
  set.AddString("socket-mode", &o.socket_mode,
                "permissions of the socket, octal; whoever may write to it is a client");
  set.AddString("tcp", &o.tcp,
                "host:port to listen at for clients on other machines, whose operations this "
                "server then executes. Empty: none. Whoever can connect is a client");
  set.AddString("rdma", &o.rdma,
                "host:port to listen at for clients over RDMA (InfiniBand, RoCEv2, iWARP), which "
                "read and write the memory by themselves. Empty: none");
  set.AddEnum(
      "atomics", &o.atomics, {"auto", "nic", "cpu"},
      "who executes the compare-and-swaps of clients: their words must have one agent. "
      "auto: the RDMA adapter if all clients come through one that can, else this processor");
  set.AddEnum("shm-sessions", &o.shm_sessions, {"auto", "always", "never"},
              "sessions on shared memory. auto: unless the RDMA adapter executes the atomics");
  set.AddDuration("peer-timeout", &o.peer_timeout,
                  "a client on another machine that was not heard of for so long is gone",
                  {.min = 1'000'000'000, .max = 600'000'000'000});
  set.AddSize("memory", &o.memory, "memory of the region: index, heap and all",
              {.min = uint64_t{4} << 20, .max = SlotWord::kHeapLimit});
  set.AddEnum(
      "mode", &o.mode, {"store", "cache"},
      "what happens when memory is full. store: writes are refused; cache: the records that "
      "were used least lately make room");
  set.AddInt(
      "records", &o.records,
      "number of records to size the index for, at 80 % load. 0: as many as the memory holds "
      "at 128 bytes each",
      {.min = 0, .max = int64_t{1} << 36});
  set.AddDuration("grace", &o.grace,
                  "how long the memory of a removed record waits before it is reused",
                  // Several ticks at least: ages are counted in them.
                  {.min = 20'000'000, .max = 60'000'000'000});
  set.AddSize("max-value-size", &o.max_value_size, "largest value that is accepted",
              {.min = 0, .max = kHardMaxValueBytes});
  set.AddInt("max-sessions", &o.max_sessions, "sessions (client threads) at the same time",
             {.min = 1, .max = 1 << 20});
  set.AddEnum("huge-pages", &o.huge_pages, {"auto", "always", "never"},
              "2 MiB pages for the region. auto: if enough are free; always: fail without");
  set.AddInt("numa-node", &o.numa_node, "NUMA node to take the memory from. -1: wherever",
             {.min = -1, .max = 1023});
  set.AddString(
      "region-dir", &o.region_dir,
      "directory on a tmpfs or hugetlbfs to take the memory from. Empty: anonymous memory");
  set.AddBool("lock-memory", &o.lock_memory, "keep the region from being swapped out (mlock)");
  set.AddInt(
      "patrol-percent", &o.patrol_percent,
      "of one core that the patrol may take: the walk that reclaims expired records and what "
      "dead clients left, and empties sparse memory. While memory is short it takes up to 50",
      {.min = 1, .max = 100});
  set.AddDuration("patrol-period", &o.patrol_period,
                  "least time from the start of one walk of the patrol to the next",
                  {.min = 1'000'000, .max = 86'400'000'000'000});
  set.AddDuration("lock-patience", &o.lock_patience,
                  "a client that keeps a lock for so long while others wait for it is ended: its "
                  "process killed on shared memory, else its connection closed",
                  {.min = 100'000'000, .max = 600'000'000'000});
  set.AddDuration("hold-patience", &o.hold_patience,
                  "likewise one that holds back the reuse of memory for so long (in one call, or "
                  "with a pinned value) while memory is short",
                  {.min = 1'000'000'000, .max = 86'400'000'000'000});
  set.AddString("snapshot-dir", &o.snapshot_dir,
                "directory for snapshots of the records, from the newest of which the server "
                "starts; created if there is none. Empty: records last as long as the server");
  set.AddDuration("snapshot-interval", &o.snapshot_interval,
                  "from the start of one snapshot to that of the next; from 100ms on. 0: only when "
                  "'kvctl snapshot create' asks for one, and when the server is stopped",
                  {.min = 0, .max = 604'800'000'000'000});
  set.AddInt("snapshot-keep", &o.snapshot_keep, "newest snapshots that are kept",
             {.min = 1, .max = 1000});
  set.AddInt("snapshot-percent", &o.snapshot_percent,
             "of one core that the walk for a snapshot may take while one is made; writing it down "
             "takes as much again, in a thread of its own",
             {.min = 1, .max = 100});
  set.AddInt("snapshot-id", &o.snapshot_id,
             "snapshot to start from. 0: the newest that is not damaged",
             {.min = 0, .max = INT64_MAX});
  set.AddBool("start-empty", &o.start_empty,
              "start without records, whatever snapshots there are. Without this a server refuses "
              "to start if it finds snapshots and none of them is good");
  set.AddDuration("drain-timeout", &o.drain_timeout,
                  "after SIGTERM, how long to wait for sessions to end",
                  {.min = 0, .max = 3'600'000'000'000});
  set.AddEnum("log-format", &o.log_format, {"text", "json"}, "format of the log on stderr");
  set.AddEnum("log-level", &o.log_level, {"debug", "info", "warning", "error", "off"},
              "least level that is logged");
}

std::string DefaultSocketPath(bool root, const char* xdg_runtime_dir, uint32_t uid) {
  if (root) return "/run/dunlin/dunlin.sock";
  if (xdg_runtime_dir != nullptr && xdg_runtime_dir[0] == '/') {
    return std::string(xdg_runtime_dir) + "/dunlin.sock";
  }
  return "/tmp/dunlin-" + std::to_string(uid) + ".sock";
}

absl::StatusOr<uint32_t> ParseMode(std::string_view mode) {
  uint32_t value = 0;
  bool ok = !mode.empty() && mode.size() <= 4;
  for (char c : mode) {
    ok = ok && c >= '0' && c <= '7';
    value = value * 8 + static_cast<uint32_t>(c - '0');
  }
  if (!ok || value > 0777) {
    return absl::InvalidArgumentError(
        "socket-mode: expected octal permissions such as 0660, found '" + std::string(mode) + "'");
  }
  return value;
}

absl::Status CheckAddress(const std::string& name, const std::string& address) {
  if (address.empty()) return absl::OkStatus();
  absl::Status why = ParseHostPort(address).status();
  if (why.ok()) return why;
  return absl::InvalidArgumentError(name + ": " + std::string(FromAbsl(why.message())));
}

absl::Status CheckOptions(const ServerOptions& o) {
  DUNLIN_RETURN_IF_ERROR(ParseMode(o.socket_mode));
  constexpr size_t kMostPath = sizeof(sockaddr_un::sun_path) - 1;
  if (o.socket.empty() || o.socket[0] != '/') {
    return absl::InvalidArgumentError("socket: expected an absolute path, found '" + o.socket +
                                      "'");
  }
  if (o.socket.size() > kMostPath) {
    return absl::InvalidArgumentError("socket: a path has at most " + std::to_string(kMostPath) +
                                      " bytes, this one has " + std::to_string(o.socket.size()));
  }
  if (!o.region_dir.empty() && o.huge() == HugePages::kAlways) {
    return absl::InvalidArgumentError(
        "huge-pages: 'always' goes with anonymous memory; for huge pages out of a directory set "
        "region-dir to a hugetlbfs mount and leave huge-pages at 'auto'");
  }
  if (o.grace % 1'000'000 != 0) {
    return absl::InvalidArgumentError("grace: expected whole milliseconds, found " +
                                      FormatDuration(o.grace));
  }
  // A client that hangs for longer than that is to be fenced before what it saw can come round.
  if (o.peer_timeout / 512 > o.grace && !(o.tcp.empty() && o.rdma.empty())) {
    return absl::InvalidArgumentError("peer-timeout: " + FormatDuration(o.peer_timeout) +
                                      " is more than 512 times grace (" + FormatDuration(o.grace) +
                                      "); lower it, or raise grace");
  }
  constexpr int64_t kLeastInterval = 100'000'000;
  if (o.snapshot_interval != 0 && o.snapshot_interval < kLeastInterval) {
    return absl::InvalidArgumentError("snapshot-interval: expected 0 or at least 100ms, found " +
                                      FormatDuration(o.snapshot_interval));
  }
  if (o.start_empty && o.snapshot_id != 0) {
    return absl::InvalidArgumentError("start-empty: makes no sense together with snapshot-id");
  }
  if (o.snapshot_dir.empty() && o.snapshot_id != 0) {
    return absl::InvalidArgumentError("snapshot-id: needs snapshot-dir");
  }
  DUNLIN_RETURN_IF_ERROR(CheckAddress("tcp", o.tcp));
  DUNLIN_RETURN_IF_ERROR(CheckAddress("rdma", o.rdma));
  if (o.rdma.empty() && static_cast<Atomics>(o.atomics) == Atomics::kNic) {
    return absl::InvalidArgumentError(
        "atomics: 'nic' needs an adapter: set rdma to the address to listen at");
  }
  return absl::OkStatus();
}

std::string ExitCodesHelp() {
  return "\nExit codes:\n"
         "  0  stopped by SIGTERM or SIGINT, or answered --help, --version, --print-config\n"
         "  1  could not start or go on; the last line of the log says why and what to do\n"
         "  2  wrong options\n";
}

}  // namespace dunlin
