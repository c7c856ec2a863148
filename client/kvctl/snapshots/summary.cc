#include "client/kvctl/snapshots/summary.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// A server that overwrites and removes records doesn't know how many bytes are left.
void AddBytes(const SnapshotSummary& snapshot, Report* report) {
  if (snapshot.bytes == 0 && snapshot.records > 0) {
    report->AddNull("bytes", "-");
  } else {
    report->Add("bytes", snapshot.bytes, Unit::kBytes);
  }
}

void AddText(std::string_view name, const std::string& text, std::string_view if_empty,
             Report* report) {
  if (text.empty()) {
    report->AddNull(name, if_empty);
  } else {
    report->Add(name, text);
  }
}

}  // namespace

SnapshotSummary ToSummary(const ListedSnapshot& listed) {
  const SnapshotInfo& info = listed.info;
  SnapshotSummary summary;
  summary.id = listed.id;
  if (!listed.usable()) summary.trouble = FromAbsl(listed.status.message());
  summary.records = info.counts.records;
  summary.bytes = info.counts.bytes;
  summary.file_bytes = info.file_bytes();
  summary.started_unix_ms = info.counts.started_unix_ms;
  summary.finished_unix_ms = info.counts.finished_unix_ms;
  summary.full = info.full;
  summary.changed = info.changed;
  summary.deleted = info.deleted;
  summary.layout_version = info.layout_version;
  summary.release = info.release;
  return summary;
}

Report DescribeSnapshot(const SnapshotSummary& snapshot) {
  Report report;
  report.Add("id", snapshot.id, Unit::kNone);
  report.Add("state", snapshot.trouble.empty() ? "usable" : "damaged");
  // A manifest that can't be read tells nothing.
  if (snapshot.finished_unix_ms == 0) {
    for (const char* name : {"records", "bytes", "file_bytes", "finished_unix_ms", "elapsed_ms",
                             "full", "changed", "deleted", "release"}) {
      report.AddNull(name, "-");
    }
    return report;
  }
  report.Add("records", snapshot.records);
  AddBytes(snapshot, &report);
  report.Add("file_bytes", snapshot.file_bytes, Unit::kBytes);
  report.Add("finished_unix_ms", snapshot.finished_unix_ms, Unit::kUnixMillis);
  report.Add("elapsed_ms",
             std::max<int64_t>(snapshot.finished_unix_ms - snapshot.started_unix_ms, 0),
             Unit::kMillis);
  report.Add("full", snapshot.full);
  report.Add("changed", snapshot.changed);
  report.Add("deleted", snapshot.deleted);
  report.Add("release", snapshot.release);
  return report;
}

Report DescribeSnapshots(const std::vector<SnapshotSummary>& snapshots) {
  std::vector<Report> rows;
  for (const SnapshotSummary& snapshot : snapshots) {
    Report row = DescribeSnapshot(snapshot);
    AddText("trouble", snapshot.trouble, "-", &row);
    rows.push_back(std::move(row));
  }
  Report report;
  report.AddList("snapshots", std::move(rows));
  return report;
}

Report DescribeServerSnapshots(const ServerSnapshots& snapshots, uint64_t uptime_ms,
                               int64_t now_unix_ms) {
  Report report;
  if (snapshots.last_id == 0) {
    report.AddNull("last_id", "none yet");
    report.AddNull("last_age_ms", "-");
    report.AddNull("last_records", "-");
  } else {
    report.Add("last_id", snapshots.last_id, Unit::kNone);
    report.Add("last_age_ms", std::max<int64_t>(now_unix_ms - snapshots.last_finished_unix_ms, 0),
               Unit::kMillis);
    report.Add("last_records", snapshots.last_records);
  }
  if (snapshots.at_risk_ms.has_value()) {
    report.Add("at_risk_ms", *snapshots.at_risk_ms, Unit::kMillis);
  } else {
    report.AddNull("at_risk_ms", "all that was written since the start");
  }
  if (snapshots.interval_ms == 0) {
    report.AddNull("interval_ms", "on demand only");
  } else {
    report.Add("interval_ms", snapshots.interval_ms, Unit::kMillis);
  }
  report.Add("last_pass_ms", snapshots.last_pass_ms, Unit::kMillis);
  if (snapshots.under_way) {
    report.Add("pass_done", snapshots.progress, Unit::kPerCent);
  } else {
    report.AddNull("pass_done", "none under way");
  }
  report.Add("made", snapshots.made);
  report.Add("unchanged", snapshots.unchanged);
  report.Add("failed", snapshots.failed);
  AddText("trouble", snapshots.trouble, "none", &report);
  report.Add("damaged_records", snapshots.damaged_records);
  report.Add("cpu_limit", snapshots.cpu_share, Unit::kPerCent);
  report.Add("cpu_used",
             static_cast<double>(snapshots.cpu_nanos) / 1e6 /
                 static_cast<double>(std::max<uint64_t>(uptime_ms, 1)),
             Unit::kPerCent);
  report.Add("memory_bytes", snapshots.memory_bytes, Unit::kBytes);
  if (snapshots.loaded_id == 0) {
    report.AddNull("loaded_id", "started empty");
    report.AddNull("loaded_records", "-");
    report.AddNull("expired_at_start", "-");
  } else {
    report.Add("loaded_id", snapshots.loaded_id, Unit::kNone);
    report.Add("loaded_records", snapshots.loaded_records);
    report.Add("expired_at_start", snapshots.expired_records);
  }
  std::vector<Report> skipped;
  for (const std::string& one : snapshots.skipped) {
    Report row;
    row.Add("skipped", one);
    skipped.push_back(std::move(row));
  }
  report.AddList("skipped_at_start", std::move(skipped));
  return report;
}

Failure SnapshotFailure(const absl::Status& status) {
  Failure failure = FailureOf(status);
  if (absl::IsFailedPrecondition(status)) failure.exit = ExitCode::kPreconditionFailed;
  return failure;
}

}  // namespace dunlin::kvctl
