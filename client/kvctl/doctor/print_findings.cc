#include "client/kvctl/doctor/print_findings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/kvctl/formats/byte_codec.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvctl {
namespace {

std::string MessageOf(const absl::Status& status) {
  return std::string(FromAbsl(status.message()));
}

std::string Padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

void AppendFinding(const Finding& finding, std::string* out) {
  const std::string level =
      Padded(finding.level == Level::kProblem ? "PROBLEM" : LevelName(finding.level), 11);
  absl::StrAppend(out, level, finding.check, ", ", EncodePrintable(finding.subject), ": ",
                  EncodePrintable(finding.text), "\n");
  for (const Evidence& evidence : finding.evidence) {
    absl::StrAppend(out, "             ", EncodePrintable(evidence.source), " = ",
                    EncodePrintable(evidence.value), "\n");
  }
  if (!finding.remedy.empty()) {
    absl::StrAppend(out, "           > ", EncodePrintable(finding.remedy), "\n");
  }
}

void AppendLatency(const char* name, const std::optional<Latency>& latency, std::string* out) {
  if (!latency) return;
  absl::StrAppend(out, "  ", Padded(name, 22), FormatRoundedDuration(latency->median_nanos),
                  " median, ", FormatRoundedDuration(latency->p99_nanos), " p99, of ",
                  FormatCount(latency->operations), "\n");
}

void AppendBandwidth(const char* name, const std::optional<Bandwidth>& bandwidth,
                     std::string* out) {
  if (!bandwidth) return;
  absl::StrAppend(out, "  ", Padded(name, 22),
                  FormatRoundedSize(static_cast<uint64_t>(bandwidth->bytes_per_second)), "/s, of ",
                  FormatRoundedSize(bandwidth->bytes_each), " each\n");
}

void AppendRaw(const absl::StatusOr<RawPathResult>& raw, std::string* out) {
  if (!raw.ok()) {
    absl::StrAppend(out, "  ", Padded("raw verbs", 22), MessageOf(raw.status()), "\n");
    return;
  }
  AppendLatency("raw READ, 64 B", raw->read, out);
  AppendLatency("raw WRITE, 64 B", raw->write, out);
  AppendLatency("raw CAS", raw->compare_swap, out);
  AppendBandwidth("raw READ", raw->read_bandwidth, out);
  AppendBandwidth("raw WRITE", raw->write_bandwidth, out);
}

void AppendPath(const PathReport& path, std::string* out) {
  const StorePathResult& store = path.store;
  absl::StrAppend(out, "\nPATH to ", EncodePrintable(path.target), ", release ",
                  EncodePrintable(store.release), "\n");
  AppendLatency("ping", store.ping, out);
  AppendLatency("get, known, 64 B", store.get_known, out);
  AppendLatency("get, cold, 64 B", store.get_cold, out);
  AppendLatency("put, known, 64 B", store.put_known, out);
  AppendBandwidth("get", store.get_bandwidth, out);
  AppendBandwidth("put", store.put_bandwidth, out);
  AppendRaw(path.raw, out);
  absl::StrAppend(out, "  ", Padded("a look at the clock", 22),
                  FormatRoundedDuration(static_cast<double>(store.clock_nanos)),
                  ", part of every latency here\n");
}

void AddLatency(const char* name, const std::optional<Latency>& latency, Report* report) {
  if (!latency) return report->AddNull(name, "-");
  Report row;
  row.Add("operations", latency->operations);
  row.Add("median_ns", latency->median_nanos, Unit::kNanos);
  row.Add("p99_ns", latency->p99_nanos, Unit::kNanos);
  report->AddObject(name, std::move(row));
}

void AddBandwidth(const char* name, const std::optional<Bandwidth>& bandwidth, Report* report) {
  if (!bandwidth) return report->AddNull(name, "-");
  Report row;
  row.Add("bytes_each", bandwidth->bytes_each, Unit::kBytes);
  row.Add("bytes_per_second", bandwidth->bytes_per_second, Unit::kRate);
  report->AddObject(name, std::move(row));
}

Report RawOf(const RawPathResult& raw) {
  Report report;
  AddLatency("read", raw.read, &report);
  AddLatency("write", raw.write, &report);
  AddLatency("compare_swap", raw.compare_swap, &report);
  AddBandwidth("read_bandwidth", raw.read_bandwidth, &report);
  AddBandwidth("write_bandwidth", raw.write_bandwidth, &report);
  return report;
}

Report PathOf(const PathReport& path) {
  Report report;
  report.Add("target", path.target);
  report.Add("release", path.store.release);
  AddLatency("ping", path.store.ping, &report);
  AddLatency("get_known", path.store.get_known, &report);
  AddLatency("get_cold", path.store.get_cold, &report);
  AddLatency("put_known", path.store.put_known, &report);
  AddBandwidth("get_bandwidth", path.store.get_bandwidth, &report);
  AddBandwidth("put_bandwidth", path.store.put_bandwidth, &report);
  report.Add("clock_ns", path.store.clock_nanos, Unit::kNanos);
  if (path.raw.ok()) {
    report.AddObject("raw", RawOf(*path.raw));
    report.AddNull("raw_error", "-");
  } else {
    report.AddNull("raw", "-");
    report.Add("raw_error", MessageOf(path.raw.status()));
  }
  return report;
}

Report FindingOf(const Finding& finding) {
  Report row;
  row.Add("check", finding.check);
  row.Add("subject", finding.subject);
  row.Add("level", finding.level == Level::kNotShown ? "not_shown" : LevelName(finding.level));
  row.Add("finding", finding.text);
  std::vector<Report> evidence;
  for (const Evidence& each : finding.evidence) {
    Report seen;
    seen.Add("source", each.source);
    seen.Add("value", each.value);
    evidence.push_back(std::move(seen));
  }
  row.AddList("evidence", std::move(evidence));
  if (finding.remedy.empty()) {
    row.AddNull("remedy", "-");
  } else {
    row.Add("remedy", finding.remedy);
  }
  return row;
}

}  // namespace

size_t Diagnosis::Count(Level level) const {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [level](const Finding& finding) { return finding.level == level; }));
}

std::string DiagnosisText(const Diagnosis& diagnosis) {
  std::string text;
  for (const Finding& finding : diagnosis.findings) AppendFinding(finding, &text);
  if (diagnosis.path) AppendPath(*diagnosis.path, &text);
  absl::StrAppend(&text, "\n", diagnosis.Count(Level::kProblem), " problems, ",
                  diagnosis.Count(Level::kWarning), " warnings, ", diagnosis.Count(Level::kOk),
                  " ok, ", diagnosis.Count(Level::kNotShown), " not shown by this host\n");
  return text;
}

Report DiagnosisReport(const Diagnosis& diagnosis) {
  Report report;
  report.Add("problems", diagnosis.Count(Level::kProblem));
  report.Add("warnings", diagnosis.Count(Level::kWarning));
  report.Add("ok", diagnosis.Count(Level::kOk));
  report.Add("not_shown", diagnosis.Count(Level::kNotShown));
  std::vector<Report> rows;
  for (const Finding& finding : diagnosis.findings) rows.push_back(FindingOf(finding));
  report.AddList("findings", std::move(rows));
  if (diagnosis.path) {
    report.AddObject("path", PathOf(*diagnosis.path));
  } else {
    report.AddNull("path", "-");
  }
  return report;
}

}  // namespace dunlin::kvctl
