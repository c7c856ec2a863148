#include "client/connect/server_status.h"

namespace dunlin {
namespace {

ServerClassUse ToClassUse(const control::ClassUse& use) {
  return {use.size_class(), use.block_bytes(), use.blocks_used(), use.blocks_free(), use.bytes()};
}

ServerSession ToSession(const control::SessionInfo& info) {
  ServerSession session;
  session.id = info.session_id();
  session.pid = info.pid();
  session.name = info.client_name();
  session.read_only = info.read_only();
  session.age_ms = info.age_ms();
  session.blocks_in_hand = info.blocks_in_hand();
  session.in_call = info.in_call();
  session.in_call_ms = info.in_call_ms();
  session.peer = info.peer();
  return session;
}

ServerPatrol ToPatrol(const control::StatusReply& reply) {
  ServerPatrol patrol;
  patrol.walks = reply.walks();
  patrol.walk_ms = reply.walk_ms();
  patrol.walk_permille = reply.walk_permille();
  patrol.sweeps = reply.sweeps();
  patrol.swept_blocks = reply.swept_blocks();
  patrol.expired = reply.expired();
  patrol.relocated = reply.relocated();
  patrol.expiring_items = reply.expiring_items();
  patrol.locks_examined = reply.locks_examined();
  patrol.locks_released = reply.locks_released();
  patrol.lock_release_ms_max = reply.lock_release_ms_max();
  patrol.cpu_nanos = reply.patrol_nanos();
  patrol.cpu_share = reply.patrol_share_permille() / 1000.0;
  return patrol;
}

ServerSnapshots ToServerSnapshots(const control::SnapshotStatus& status) {
  ServerSnapshots snapshots;
  snapshots.interval_ms = status.interval_ms();
  snapshots.cpu_share = status.share_permille() / 1000.0;
  snapshots.last_id = status.last_id();
  snapshots.last_records = status.last_records();
  snapshots.last_finished_unix_ms = status.last_finished_unix_ms();
  if (status.covered()) snapshots.at_risk_ms = status.covered_ms_ago();
  snapshots.last_pass_ms = status.last_pass_ms();
  snapshots.made = status.made();
  snapshots.unchanged = status.unchanged();
  snapshots.failed = status.failed();
  snapshots.trouble = status.trouble();
  snapshots.under_way = status.under_way();
  snapshots.progress = static_cast<double>(status.permille()) / 1000;
  snapshots.damaged_records = status.damaged_records();
  snapshots.memory_bytes = status.shadow_bytes();
  snapshots.cpu_nanos = status.nanos();
  snapshots.loaded_id = status.loaded_id();
  snapshots.loaded_records = status.loaded_records();
  snapshots.expired_records = status.expired_records();
  snapshots.skipped.assign(status.skipped().begin(), status.skipped().end());
  return snapshots;
}

}  // namespace

std::vector<SnapshotSummary> ToSnapshots(const control::SnapshotReply& reply) {
  std::vector<SnapshotSummary> snapshots;
  for (const control::SnapshotEntry& entry : reply.snapshots()) {
    SnapshotSummary& snapshot = snapshots.emplace_back();
    snapshot.id = entry.id();
    snapshot.trouble = entry.trouble();
    snapshot.records = entry.records();
    snapshot.bytes = entry.bytes();
    snapshot.file_bytes = entry.file_bytes();
    snapshot.started_unix_ms = entry.started_unix_ms();
    snapshot.finished_unix_ms = entry.finished_unix_ms();
    snapshot.full = entry.full();
    snapshot.changed = entry.changed();
    snapshot.deleted = entry.deleted();
    snapshot.layout_version = entry.layout_version();
    snapshot.release = entry.release();
  }
  return snapshots;
}

ServerStatus ToServerStatus(const control::StatusReply& reply) {
  ServerStatus status;
  status.release = reply.server_release();
  status.state = reply.state();
  status.layout_version = reply.layout_version();
  status.incarnation = reply.incarnation();
  status.uptime_ms = reply.uptime_ms();
  status.tick = reply.tick();
  status.tick_lag_ms_max = reply.tick_lag_ms_max();
  status.region_bytes = reply.region_bytes();
  status.huge_pages = reply.huge_pages();
  status.numa = reply.numa();
  status.heap_bytes = reply.heap_bytes();
  status.heap_used_bytes = reply.heap_used_bytes();
  status.heap_grace_bytes = reply.heap_grace_bytes();
  status.heap_free_bytes = reply.heap_free_bytes();
  status.allocator_bytes = reply.allocator_bytes();
  status.index_bytes = reply.index_bytes();
  status.index_slots = reply.index_slots();
  status.subtables = reply.subtables();
  status.counted = reply.counted();
  status.items = reply.items();
  status.locks_held = reply.locks_held();
  status.grace_ms = reply.grace_ms();
  status.max_value_bytes = reply.max_value_bytes();
  status.max_key_bytes = reply.max_key_bytes();
  status.sessions_opened = reply.sessions_opened();
  status.sessions_lost = reply.sessions_lost();
  status.connections_refused = reply.connections_refused();
  status.returns_refused = reply.returns_refused();
  status.heap_index_bytes = reply.heap_index_bytes();
  status.index_spare_bytes = reply.index_spare_bytes();
  status.sessions_killed = reply.sessions_killed();
  status.mode = reply.mode();
  status.splits = reply.splits();
  status.split_ms_max = reply.split_ms_max();
  status.evicted = reply.evicted();
  status.patrol = ToPatrol(reply);
  if (reply.has_snapshots()) status.snapshots = ToServerSnapshots(reply.snapshots());
  status.atomic_domain = reply.atomic_domain();
  status.endpoints.assign(reply.endpoints().begin(), reply.endpoints().end());
  for (const control::ClassUse& use : reply.classes()) status.classes.push_back(ToClassUse(use));
  for (const control::SessionInfo& info : reply.sessions()) {
    status.sessions.push_back(ToSession(info));
  }
  return status;
}

}  // namespace dunlin
