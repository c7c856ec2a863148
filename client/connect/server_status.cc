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
  status.atomic_domain = reply.atomic_domain();
  status.endpoints.assign(reply.endpoints().begin(), reply.endpoints().end());
  for (const control::ClassUse& use : reply.classes()) status.classes.push_back(ToClassUse(use));
  for (const control::SessionInfo& info : reply.sessions()) {
    status.sessions.push_back(ToSession(info));
  }
  return status;
}

}  // namespace dunlin
