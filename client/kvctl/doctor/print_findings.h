#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/kvctl/doctor/finding.h"
#include "client/kvctl/doctor/measure_path.h"
#include "client/kvctl/output/report.h"

namespace dunlin::kvctl {

// What was measured with --to.
struct PathReport {
  std::string target;
  StorePathResult store;
  absl::StatusOr<RawPathResult> raw = absl::UnimplementedError("not measured");
};

struct Diagnosis {
  Findings findings;
  std::optional<PathReport> path;

  size_t Count(Level level) const;
};

// For people: every finding with its evidence and remedy, what was measured, and a last line that
// counts.
std::string DiagnosisText(const Diagnosis& diagnosis);

// For programs: {"problems":0,"warnings":1,"ok":9,"not_shown":3,"findings":[{"check","subject",
// "level","finding","evidence":[{"source","value"}],"remedy"}],"path":{...}}. "level" is one of ok,
// not_shown, warning, problem; "remedy" may be null, and "path" is, without --to.
Report DiagnosisReport(const Diagnosis& diagnosis);

}  // namespace dunlin::kvctl
