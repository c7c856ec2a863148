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
  patrol.cpu_nanos = reply.patrol_nanos();
  patrol.cpu_share = reply.patrol_share_permille() / 1000.0;
  return patrol;
}

}  // namespace

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
  status.atomic_domain = reply.atomic_domain();
  status.endpoints.assign(reply.endpoints().begin(), reply.endpoints().end());
  for (const control::ClassUse& use : reply.classes()) status.classes.push_back(ToClassUse(use));
  for (const control::SessionInfo& info : reply.sessions()) {
    status.sessions.push_back(ToSession(info));
  }
  return status;
}

}  // namespace dunlin
