#include "client/c/c_types.h"

using dunlin::c::Guarded;
using dunlin::c::Report;
using dunlin::c::ReportInvalid;
using dunlin::c::WriteReport;

namespace {

dunlin_snapshot FromSummary(const dunlin::SnapshotSummary& from) {
  dunlin_snapshot to = {};
  to.size = sizeof to;
  to.id = from.id;
  to.records = from.records;
  to.bytes = from.bytes;
  to.file_bytes = from.file_bytes;
  to.changed = from.changed;
  to.deleted = from.deleted;
  to.started_unix_ms = from.started_unix_ms;
  to.finished_unix_ms = from.finished_unix_ms;
  to.full = from.full;
  to.usable = from.trouble.empty();
  return to;
}

}  // namespace

dunlin_code dunlin_create_snapshot(dunlin_client* client, int64_t patience_ms,
                                   dunlin_snapshot* snapshot, dunlin_error* error) {
  if (client == nullptr) return ReportInvalid("client: expected one, found NULL", error);
  if (patience_ms < 0) return ReportInvalid("patience_ms: expected a time", error);
  if (snapshot != nullptr && snapshot->size < sizeof snapshot->size) {
    return ReportInvalid("snapshot: expected NULL, or one with its size set", error);
  }
  return Guarded(DUNLIN_CODE_INTERNAL, [&] {
    const auto made = client->client->CreateSnapshot(dunlin::Milliseconds(patience_ms));
    if (made.ok() && snapshot != nullptr) WriteReport(FromSummary(*made), snapshot);
    return Report(made.status(), error);
  });
}

dunlin_code dunlin_list_snapshots(dunlin_client* client, dunlin_snapshot_callback callback,
                                  void* context, dunlin_error* error) {
  if (client == nullptr) return ReportInvalid("client: expected one, found NULL", error);
  if (callback == nullptr) return ReportInvalid("callback: expected one, found NULL", error);
  return Guarded(DUNLIN_CODE_INTERNAL, [&] {
    const auto all = client->client->ListSnapshots();
    if (!all.ok()) return Report(all.status(), error);
    for (const dunlin::SnapshotSummary& one : *all) {
      const dunlin_snapshot snapshot = FromSummary(one);
      callback(context, &snapshot, snapshot.usable ? nullptr : one.trouble.c_str());
    }
    return Report(absl::OkStatus(), error);
  });
}

dunlin_code dunlin_delete_snapshot(dunlin_client* client, uint64_t id, dunlin_error* error) {
  if (client == nullptr) return ReportInvalid("client: expected one, found NULL", error);
  return Guarded(DUNLIN_CODE_INTERNAL,
                 [&] { return Report(client->client->DeleteSnapshot(id), error); });
}
