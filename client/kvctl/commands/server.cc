#include "client/kvctl/commands/server.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/snapshots/summary.h"

namespace dunlin::kvctl {
namespace {

double Fraction(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Report Memory(const ServerStatus& status) {
  Report memory;
  memory.Add("region_bytes", status.region_bytes, Unit::kBytes);
  memory.Add("huge_pages", status.huge_pages);
  memory.Add("numa", status.numa);
  memory.Add("heap_bytes", status.heap_bytes, Unit::kBytes);
  memory.Add("heap_used_bytes", status.heap_used_bytes, Unit::kBytes);
  memory.Add("heap_load", Fraction(status.heap_used_bytes, status.heap_bytes), Unit::kPerCent);
  memory.Add("heap_index_bytes", status.heap_index_bytes, Unit::kBytes);
  memory.Add("heap_grace_bytes", status.heap_grace_bytes, Unit::kBytes);
  memory.Add("evicted", status.evicted);
  memory.Add("heap_free_bytes", status.heap_free_bytes, Unit::kBytes);
  memory.Add("allocator_bytes", status.allocator_bytes, Unit::kBytes);
  return memory;
}

Report Index(const ServerStatus& status) {
  Report index;
  index.Add("items", status.items);
  index.Add("counted_now", status.counted);
  index.Add("index_slots", status.index_slots);
  index.Add("index_load", Fraction(status.items, status.index_slots), Unit::kPerCent);
  index.Add("index_bytes", status.index_bytes, Unit::kBytes);
  index.Add("index_spare_bytes", status.index_spare_bytes, Unit::kBytes);
  index.Add("subtables", status.subtables);
  index.Add("splits", status.splits);
  index.Add("longest_split_ms", status.split_ms_max, Unit::kMillis);
  index.Add("locks_held", status.locks_held);
  return index;
}

Report Patrol(const ServerStatus& status) {
  const ServerPatrol& patrol = status.patrol;
  const uint64_t uptime_nanos = status.uptime_ms * 1'000'000;
  Report report;
  report.Add("cpu_limit", patrol.cpu_share, Unit::kPerCent);
  report.Add("cpu_used", Fraction(patrol.cpu_nanos, uptime_nanos), Unit::kPerCent);
  report.Add("walks", patrol.walks);
  if (patrol.walks != 0) {
    report.Add("last_walk_ms", patrol.walk_ms, Unit::kMillis);
  } else {
    report.AddNull("last_walk_ms", "-");
  }
  report.Add("walk_done", static_cast<double>(patrol.walk_permille) / 1000, Unit::kPerCent);
  report.Add("expiring_items", patrol.expiring_items);
  report.Add("expired", patrol.expired);
  report.Add("relocated", patrol.relocated);
  report.Add("sweeps", patrol.sweeps);
  report.Add("swept_blocks", patrol.swept_blocks);
  report.Add("locks_examined", patrol.locks_examined);
  report.Add("locks_released", patrol.locks_released);
  report.Add("longest_lock_release_ms", patrol.lock_release_ms_max, Unit::kMillis);
  return report;
}

std::vector<Report> Sessions(const ServerStatus& status) {
  std::vector<Report> rows;
  for (const ServerSession& session : status.sessions) {
    Report row;
    row.Add("id", session.id, Unit::kNone);
    row.Add("pid", session.pid, Unit::kNone);
    row.Add("name", session.name);
    row.Add("peer", session.peer);
    row.Add("read_only", session.read_only);
    row.Add("age_ms", session.age_ms, Unit::kMillis);
    row.Add("blocks_in_hand", session.blocks_in_hand);
    if (session.in_call) {
      row.Add("in_call_ms", session.in_call_ms, Unit::kMillis);
    } else {
      row.AddNull("in_call_ms", "-");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Report> Classes(const ServerStatus& status) {
  std::vector<Report> rows;
  for (const ServerClassUse& use : status.classes) {
    Report row;
    row.Add("class", use.size_class, Unit::kNone);
    if (use.block_bytes == 0) {
      row.AddNull("block_bytes", "runs");
    } else {
      row.Add("block_bytes", use.block_bytes, Unit::kBytes);
    }
    row.Add("blocks_used", use.blocks_used);
    row.Add("blocks_free", use.blocks_free);
    row.Add("bytes", use.bytes, Unit::kBytes);
    rows.push_back(std::move(row));
  }
  return rows;
}

ExitCode PrintStatus(Context& context, const absl::StatusOr<ServerStatus>& status) {
  if (!status.ok()) return Fail(context, status.status());
  Report report;
  report.Add("release", status->release);
  report.Add("state", status->state);
  report.Add("mode", status->mode);
  report.Add("atomic_domain", status->atomic_domain);
  std::string endpoints;
  for (const std::string& endpoint : status->endpoints) {
    endpoints += (endpoints.empty() ? "" : ", ") + endpoint;
  }
  report.Add("endpoints", endpoints.empty() ? "none but its socket" : endpoints);
  report.Add("uptime_ms", status->uptime_ms, Unit::kMillis);
  report.Add("layout_version", status->layout_version, Unit::kNone);
  report.AddExact("incarnation", status->incarnation);
  report.Add("max_key_bytes", status->max_key_bytes);
  report.Add("max_value_bytes", status->max_value_bytes, Unit::kBytes);
  report.AddObject("memory", Memory(*status));
  report.AddObject("index", Index(*status));
  report.AddObject("patrol", Patrol(*status));
  if (status->snapshots.has_value()) {
    report.AddObject("snapshots", DescribeServerSnapshots(*status->snapshots, status->uptime_ms,
                                                          context.clock->WallNanos() / 1'000'000));
  } else {
    report.AddNull("snapshots", "none: records last as long as the server");
  }
  report.AddList("sessions", Sessions(*status));
  return Print(context, report);
}

}  // namespace

ExitCode RunPing(Context& context) {
  const absl::StatusOr<Client::Pong> pong = context.client->Ping();
  if (!pong.ok()) return Fail(context, pong.status());
  Report report;
  report.Add("release", pong->release);
  report.Add("round_trip_ns", pong->round_trip.count(), Unit::kNanos);
  return Print(context, report);
}

ExitCode RunStatus(Context& context) {
  return PrintStatus(context, context.client->Status(/*count_index=*/true));
}

ExitCode RunSweep(Context& context, const SweepArguments& arguments) {
  return PrintStatus(context, context.client->Sweep(arguments.patience));
}

ExitCode RunStats(Context& context) {
  const absl::StatusOr<ServerStatus> status = context.client->Status();
  if (!status.ok()) return Fail(context, status.status());
  Report report;
  report.Add("uptime_ms", status->uptime_ms, Unit::kMillis);
  report.Add("tick", status->tick, Unit::kNone);
  report.Add("tick_lag_ms_max", status->tick_lag_ms_max, Unit::kMillis);
  report.Add("grace_ms", status->grace_ms, Unit::kMillis);
  report.Add("sessions_opened", status->sessions_opened);
  report.Add("sessions_lost", status->sessions_lost);
  report.Add("sessions_killed", status->sessions_killed);
  report.Add("connections_refused", status->connections_refused);
  report.Add("returns_refused", status->returns_refused);
  report.AddList("size_classes", Classes(*status));
  return Print(context, report);
}

ExitCode RunLayout(Context& context) {
  const RegionLayout layout = context.client->Layout();
  Report report;
  report.Add("layout_version", layout.layout_version, Unit::kNone);
  report.AddExact("incarnation", layout.incarnation);
  report.Add("region_bytes", layout.region_bytes, Unit::kBytes);
  report.Add("session_offset", layout.session_offset, Unit::kNone);
  report.Add("session_words", layout.session_words);
  report.Add("directory_offset", layout.directory_offset, Unit::kNone);
  report.Add("directory_depth", layout.directory_depth);
  report.Add("index_offset", layout.index_offset, Unit::kNone);
  report.Add("index_bytes", layout.index_bytes, Unit::kBytes);
  report.Add("buckets_per_subtable", layout.buckets_per_subtable);
  report.Add("slots_per_bucket", layout.slots_per_bucket);
  report.Add("heap_offset", layout.heap_offset, Unit::kNone);
  report.Add("heap_bytes", layout.heap_bytes, Unit::kBytes);
  return Print(context, report);
}

}  // namespace dunlin::kvctl
