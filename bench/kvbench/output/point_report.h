#pragma once

#include <string>

#include "bench/kvbench/measure/metric_set.h"
#include "bench/kvbench/output/exporter.h"

namespace dunlin::kvbench {

// YCSB's measurement types that know when each operation was measured. `intended`: from when the
// schedule had it begin.

// raw: the lines that YCSB prints of each operation.
std::string RawLines(const std::string& name, const Points& points, bool intended);
// And its summary of them, all but the return codes.
void WriteRawSummary(const std::string& name, const Points& points, bool intended,
                     bool with_latencies, Exporter& exporter);

// timeseries: the mean of each `granularity` milliseconds in which something was measured.
void WriteSeries(const std::string& name, const Points& points, bool intended, int64_t granularity,
                 Exporter& exporter);

}  // namespace dunlin::kvbench
