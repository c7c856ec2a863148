#include "bench/kvbench/output/report.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "bench/kvbench/output/java_double.h"
#include "bench/kvbench/output/point_report.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

constexpr double kMillion = 1e6;

class MetricWriter {
 public:
  MetricWriter(const OutputOptions& options, Exporter& exporter)
      : options_(options), exporter_(exporter) {}

  // `returns` may be null: they are told elsewhere, or there are none.
  void Write(const std::string& name, const MetricSet::Latency& latency, bool intended,
             const std::array<uint64_t, kReturns>* returns) {
    const Histogram& histogram = intended ? latency.intended() : latency.call;
    const bool two = options_.hdr_histogram && (options_.plain_histogram || options_.raw);
    if (options_.hdr_histogram) WriteHdr(two ? "Hdr" + name : name, histogram, returns);
    if (options_.plain_histogram) WritePlain(two ? "Bucket" + name : name, histogram, returns);
    if (options_.raw) {
      WriteRawSummary(two ? "Raw" + name : name, latency.points, intended, options_.raw_summary,
                      exporter_);
      // Of two, YCSB tells the first one alone.
      if (!two) WriteReturns(name, returns);
    }
    if (options_.series) WriteTimeSeries(name, latency, intended, returns);
  }

 private:
  void WriteTimeSeries(const std::string& name, const MetricSet::Latency& latency, bool intended,
                       const std::array<uint64_t, kReturns>* returns) {
    const Histogram& histogram = intended ? latency.intended() : latency.call;
    const bool any = histogram.count() > 0;
    exporter_.Write(name, "Operations", histogram.count());
    exporter_.Write(name, "AverageLatency(us)",
                    any ? histogram.Mean() / 1000 : std::numeric_limits<double>::quiet_NaN());
    exporter_.Write(name, "MinLatency(us)",
                    any ? static_cast<int64_t>(histogram.min() / 1000) : int64_t{-1});
    exporter_.Write(name, "MaxLatency(us)",
                    any ? static_cast<int64_t>(histogram.max() / 1000) : int64_t{-1});
    for (const double percent : options_.series_percentiles) {
      exporter_.Write(name, PercentileName(percent) + "PercentileLatency(us)",
                      histogram.Percentile(percent) / 1000);
    }
    WriteReturns(name, returns);
    WriteSeries(name, latency.points, intended, options_.series_millis, exporter_);
  }

  void WriteHdr(const std::string& name, const Histogram& histogram,
                const std::array<uint64_t, kReturns>* returns) {
    exporter_.Write(name, "Operations", histogram.count());
    exporter_.Write(name, "AverageLatency(us)", histogram.Mean() / 1000);
    exporter_.Write(name, "MinLatency(us)", histogram.min() / 1000);
    exporter_.Write(name, "MaxLatency(us)", histogram.max() / 1000);
    for (const double percent : options_.percentiles) {
      exporter_.Write(name, PercentileName(percent) + "PercentileLatency(us)",
                      histogram.Percentile(percent) / 1000);
    }
    WriteReturns(name, returns);
    if (options_.verbose) WriteSteps(name, histogram);
    if (options_.nanoseconds && histogram.count() > 0) WriteNanos(name, histogram);
  }

  // In microseconds, as YCSB counts them.
  void WriteSteps(const std::string& name, const Histogram& histogram) {
    uint64_t value = 0, count = 0;
    const auto flush = [&] {
      if (count > 0) exporter_.Write(name, std::to_string(value), static_cast<double>(count));
    };
    histogram.ForEachStep([&](uint64_t highest, uint64_t here) {
      if (highest / 1000 != value) {
        flush();
        value = highest / 1000;
        count = 0;
      }
      count += here;
    });
    flush();
  }

  void WriteNanos(const std::string& name, const Histogram& histogram) {
    exporter_.Write(name, "MinLatency(ns)", histogram.min());
    exporter_.Write(name, "MaxLatency(ns)", histogram.max());
    for (const double percent : options_.percentiles) {
      exporter_.Write(name, PercentileName(percent) + "PercentileLatency(ns)",
                      histogram.Percentile(percent));
    }
  }

  // YCSB's older form: buckets of a millisecond.
  void WritePlain(const std::string& name, const Histogram& histogram,
                  const std::array<uint64_t, kReturns>* returns) {
    std::vector<uint64_t> buckets(options_.buckets);
    uint64_t beyond = 0;
    double squares = 0;
    histogram.ForEachStep([&](uint64_t highest, uint64_t count) {
      const double micros = static_cast<double>(highest) / 1000;
      squares += micros * micros * static_cast<double>(count);
      const uint64_t bucket = highest / 1'000'000;
      (bucket < buckets.size() ? buckets[bucket] : beyond) += count;
    });
    const double mean = histogram.Mean() / 1000;
    const auto all = static_cast<double>(histogram.count());
    exporter_.Write(name, "Operations", histogram.count());
    exporter_.Write(name, "AverageLatency(us)", mean);
    exporter_.Write(name, "LatencyVariance(us)",
                    all > 0 ? std::max(0.0, squares / all - mean * mean) : 0);
    exporter_.Write(name, "MinLatency(us)", histogram.min() / 1000);
    exporter_.Write(name, "MaxLatency(us)", histogram.max() / 1000);
    for (const double percent : {95.0, 99.0}) {
      const std::optional<size_t> bucket = BucketAt(buckets, percent / 100 * all);
      if (!bucket || all == 0) continue;
      exporter_.Write(name, PercentileName(percent) + "PercentileLatency(us)",
                      uint64_t{*bucket} * 1000);
    }
    WriteReturns(name, returns);
    if (!options_.verbose) return;
    for (size_t i = 0; i < buckets.size(); ++i) {
      exporter_.Write(name, std::to_string(i), buckets[i]);
    }
    exporter_.Write(name, ">" + std::to_string(buckets.size()), beyond);
  }

  static std::optional<size_t> BucketAt(const std::vector<uint64_t>& buckets, double rank) {
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets.size(); ++i) {
      seen += buckets[i];
      if (static_cast<double>(seen) >= rank) return i;
    }
    return std::nullopt;
  }

  void WriteReturns(const std::string& name, const std::array<uint64_t, kReturns>* returns) {
    if (returns == nullptr) return;
    for (size_t i = 0; i < kReturns; ++i) {
      if ((*returns)[i] == 0) continue;
      exporter_.Write(name, "Return=" + std::string(ReturnName(i)), (*returns)[i]);
    }
  }

  const OutputOptions& options_;
  Exporter& exporter_;
};

// visit(name, latency, intended, return codes or null) for each that is to be told.
template <typename Visit>
void ForEachTold(const RunOutcome& outcome, const OutputOptions& options, Visit visit) {
  using Latency = OutputOptions::Latency;
  const MetricSet::Latency none;
  outcome.metrics.ForEach([&](const std::string& name, MetricId metric, bool success,
                              const MetricSet::Latency* latency) {
    const auto* returns = success ? &outcome.metrics.returns(metric) : nullptr;
    const MetricSet::Latency& found = latency == nullptr ? none : *latency;
    // Nobody schedules the end of a thread.
    const bool call_alone = options.latency == Latency::kCall || metric == MetricId::kCleanup;
    visit(name, found, options.latency == Latency::kIntended && !call_alone, returns);
    if (options.latency == Latency::kBoth && !call_alone) {
      visit(IntendedName(name), found, true, nullptr);
    }
  });
}

void WriteMetrics(const RunOutcome& outcome, const OutputOptions& options, Exporter& exporter) {
  MetricWriter writer(options, exporter);
  ForEachTold(outcome, options,
              [&](const std::string& name, const MetricSet::Latency& latency, bool intended,
                  const std::array<uint64_t, kReturns>* returns) {
                writer.Write(name, latency, intended, returns);
              });
}

void WriteCosts(const RunOutcome& outcome, Exporter& exporter) {
  const auto operations = static_cast<double>(outcome.operations);
  if (outcome.operations == 0) return;
  const auto per_million = [&](uint64_t nanos) {
    return static_cast<double>(nanos) / 1000 / operations * kMillion;
  };
  exporter.Write("CLIENT", "CpuPerMillionOperations(us)", per_million(outcome.client_cpu_nanos));
  if (outcome.before.known && outcome.after.known) {
    const uint64_t nanos = outcome.after.cpu_nanos - outcome.before.cpu_nanos;
    exporter.Write("SERVER", "CpuPerMillionOperations(us)", per_million(nanos));
    exporter.Write("SERVER", "Memory(bytes)", outcome.after.memory_bytes);
  }
  if (outcome.fabric.known && outcome.fabric.operations > 0) {
    const auto of = static_cast<double>(outcome.fabric.operations);
    exporter.Write("FABRIC", "RoundTripsPerOperation",
                   static_cast<double>(outcome.fabric.round_trips) / of);
    exporter.Write("FABRIC", "VerbsPerOperation", static_cast<double>(outcome.fabric.verbs) / of);
  }
}

}  // namespace

std::string PercentileName(double percent) {
  if (percent != std::floor(percent)) return JavaDouble(percent);
  const int whole = static_cast<int>(percent);
  const bool teen = whole % 100 >= 11 && whole % 100 <= 13;
  const char* suffix = "th";
  if (!teen && whole % 10 == 1) suffix = "st";
  if (!teen && whole % 10 == 2) suffix = "nd";
  if (!teen && whole % 10 == 3) suffix = "rd";
  return std::to_string(whole) + suffix;
}

std::string IntendedName(const std::string& metric) { return "Intended-" + metric; }

absl::Status WriteRaw(const RunOutcome& outcome, const OutputOptions& options) {
  if (!options.raw) return absl::OkStatus();
  const std::string& path = options.raw_file;
  FILE* const file = path.empty() ? stdout : fopen(path.c_str(), "ae");
  bool failed = file == nullptr;
  int error = errno;
  ForEachTold(outcome, options,
              [&](const std::string& name, const MetricSet::Latency& latency, bool intended,
                  const std::array<uint64_t, kReturns>*) {
                if (failed) return;
                const std::string lines =
                    RawLines(options.hdr_histogram ? "Raw" + name : name, latency.points, intended);
                failed = fwrite(lines.data(), 1, lines.size(), file) != lines.size();
                error = errno;
              });
  if (file != nullptr && (path.empty() ? fflush(file) : fclose(file)) != 0 && !failed) {
    failed = true;
    error = errno;
  }
  if (!failed) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable,
                    (path.empty() ? "standard output" : path) + ": " + strerror(error));
}

void WriteRun(const RunOutcome& outcome, const OutputOptions& options,
              const std::optional<Overhead>& overhead, Exporter& exporter) {
  exporter.Write("OVERALL", "RunTime(ms)", static_cast<uint64_t>(outcome.seconds * 1000));
  exporter.Write(
      "OVERALL", "Throughput(ops/sec)",
      outcome.seconds > 0 ? static_cast<double>(outcome.operations) / outcome.seconds : 0);
  WriteMetrics(outcome, options, exporter);
  WriteCosts(outcome, exporter);
  if (overhead) {
    exporter.Write("DRIVER", "OverheadNanos", overhead->nanos);
    exporter.Write("DRIVER", "EmptyOperationNanos", overhead->empty_nanos);
  }
}

}  // namespace dunlin::kvbench
