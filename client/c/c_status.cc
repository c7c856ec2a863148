#include <algorithm>
#include <string>

#include "client/c/c_types.h"

using dunlin::c::Guarded;
using dunlin::c::Report;
using dunlin::c::ReportInvalid;
using dunlin::c::WriteReport;

namespace {

dunlin_statistics FromStats(const dunlin::Stats& from) {
  dunlin_statistics to = {};
  to.gets = from.gets;
  to.puts = from.puts;
  to.removes = from.removes;
  to.compare_and_sets = from.compare_and_sets;
  to.adds = from.adds;
  to.touches = from.touches;
  to.hits = from.hits;
  to.misses = from.misses;
  to.failures = from.failures;
  to.round_trips = from.round_trips;
  to.chains = from.chains;
  to.verbs = from.verbs;
  to.reads = from.reads;
  to.writes = from.writes;
  to.atomics = from.atomics;
  to.retries = from.retries;
  to.absorbed = from.absorbed;
  to.cache_hits = from.cache_hits;
  to.cache_misses = from.cache_misses;
  to.lane_messages = from.lane_messages;
  to.reconnects = from.reconnects;
  to.resolved = from.resolved;
  to.clock_error_ns = static_cast<uint64_t>(from.clock_error.count());
  return to;
}

template <size_t kRoom>
void CopyText(const std::string& from, char (&to)[kRoom]) {
  std::copy_n(from.begin(), std::min(from.size(), kRoom - 1), to);
}

void SetSnapshots(const dunlin::ServerSnapshots& from, dunlin_server_status& to) {
  to.snapshots = true;
  to.snapshot_failed = !from.trouble.empty();
  to.snapshot_id = from.last_id;
  to.snapshot_records = from.last_records;
  to.snapshot_finished_unix_ms = from.last_finished_unix_ms;
  to.snapshot_at_risk_ms =
      from.at_risk_ms.has_value() ? static_cast<int64_t>(*from.at_risk_ms) : DUNLIN_UNSET;
  to.snapshot_pass_ms = from.last_pass_ms;
  to.snapshots_made = from.made;
  to.snapshots_failed = from.failed;
  to.loaded_snapshot_id = from.loaded_id;
  to.loaded_records = from.loaded_records;
}

dunlin_server_status FromStatus(const dunlin::ServerStatus& from) {
  dunlin_server_status to = {};
  CopyText(from.release, to.release);
  CopyText(from.state, to.state);
  to.layout_version = from.layout_version;
  to.grace_ms = from.grace_ms;
  to.incarnation = from.incarnation;
  to.uptime_ms = from.uptime_ms;
  to.tick = from.tick;
  to.tick_lag_ms_max = from.tick_lag_ms_max;
  to.region_bytes = from.region_bytes;
  to.heap_bytes = from.heap_bytes;
  to.heap_used_bytes = from.heap_used_bytes;
  to.heap_grace_bytes = from.heap_grace_bytes;
  to.heap_free_bytes = from.heap_free_bytes;
  to.allocator_bytes = from.allocator_bytes;
  to.index_bytes = from.index_bytes;
  to.index_slots = from.index_slots;
  to.subtables = from.subtables;
  to.items = from.items;
  to.locks_held = from.locks_held;
  to.max_value_bytes = from.max_value_bytes;
  to.max_key_bytes = from.max_key_bytes;
  to.sessions = static_cast<uint32_t>(from.sessions.size());
  to.sessions_opened = from.sessions_opened;
  to.sessions_lost = from.sessions_lost;
  to.connections_refused = from.connections_refused;
  to.returns_refused = from.returns_refused;
  to.huge_pages = from.huge_pages;
  to.counted = from.counted;
  if (from.snapshots.has_value()) SetSnapshots(*from.snapshots, to);
  return to;
}

}  // namespace

dunlin_outcome dunlin_stats(const dunlin_session* session, dunlin_statistics* statistics) {
  if (session == nullptr) return DUNLIN_INVALID_ARGUMENT;
  return WriteReport(FromStats(session->session->stats()), statistics) ? DUNLIN_OK
                                                                       : DUNLIN_INVALID_ARGUMENT;
}

uint32_t dunlin_max_key_bytes(const dunlin_session* session) {
  return session == nullptr ? 0 : session->session->max_key_bytes();
}

uint64_t dunlin_max_value_bytes(const dunlin_session* session) {
  return session == nullptr ? 0 : session->session->max_value_bytes();
}

void dunlin_forget_locations(dunlin_session* session) {
  if (session != nullptr) session->session->ForgetLocations();
}

dunlin_code dunlin_status(dunlin_client* client, bool count_index, dunlin_server_status* status,
                          dunlin_error* error) {
  if (client == nullptr) return ReportInvalid("client: expected one, found NULL", error);
  return Guarded(DUNLIN_CODE_INTERNAL, [&] {
    const auto found = client->client->Status(count_index);
    if (!found.ok()) return Report(found.status(), error);
    if (!WriteReport(FromStatus(*found), status)) {
      return ReportInvalid("status: expected one with its size set, found NULL or too small",
                           error);
    }
    return Report(absl::OkStatus(), error);
  });
}
