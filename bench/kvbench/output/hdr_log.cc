#include "bench/kvbench/output/hdr_log.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <utility>

#include "bench/kvbench/output/hdr_encoding.h"
#include "bench/kvbench/output/report.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace dunlin::kvbench {
namespace {

// What Java's Date.toString() writes.
std::string DateText(int64_t unix_nanos) {
  const time_t seconds = unix_nanos / 1'000'000'000;
  tm parts{};
  localtime_r(&seconds, &parts);
  char text[64];
  return std::string(text, strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Z %Y", &parts));
}

}  // namespace

void HdrLog::OnInterval(const IntervalView& interval) {
  if (base_unix_nanos_ == 0) {
    base_unix_nanos_ =
        SystemClock::Shared().WallNanos() - static_cast<int64_t>(interval.end_seconds * 1e9);
  }
  collected_.Merge(interval.metrics);
  end_ = interval.end_seconds;
  if (end_ - start_ >= seconds_ * 0.99) WriteInterval();
}

void HdrLog::WriteInterval() {
  collected_.ForEach(
      [this](const std::string& name, MetricId metric, bool, const MetricSet::Latency* latency) {
        if (latency == nullptr || metric == MetricId::kCleanup) return;
        status_.Update(WriteLine(name, latency->call));
        if (!intended_) return;
        status_.Update(WriteLine(IntendedName(name), latency->intended()));
      });
  collected_.Reset();
  start_ = end_;
}

absl::Status HdrLog::Open(const std::string& name, File& file) const {
  const std::string path = path_ + name + ".hdr";
  file.reset(fopen(path.c_str(), "w"));
  if (file == nullptr) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      path + ": " + strerror(errno) + "; hdrhistogram.output.path says where to");
  }
  std::fprintf(file.get(),
               "#[Logging for: %s, in nanoseconds]\n#[Histogram log format version 1.3]\n"
               "#[StartTime: %.3f (seconds since epoch), %s]\n"
               "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
               "\"Interval_Compressed_Histogram\"\n",
               name.c_str(), static_cast<double>(base_unix_nanos_) / 1e9,
               DateText(base_unix_nanos_).c_str());
  return absl::OkStatus();
}

absl::Status HdrLog::WriteLine(const std::string& name, const Histogram& histogram) {
  File& file = files_[name];
  if (file == nullptr) DUNLIN_RETURN_IF_ERROR(Open(name, file));
  DUNLIN_ASSIGN_OR_RETURN(const std::string encoded, EncodeHdr(histogram));
  // The maximum in milliseconds, as readers of such logs expect.
  std::fprintf(file.get(), "%.3f,%.3f,%.3f,%s\n", start_, end_ - start_,
               static_cast<double>(histogram.max()) / 1e6, encoded.c_str());
  return absl::OkStatus();
}

absl::Status HdrLog::Finish() {
  if (end_ > start_) WriteInterval();
  for (auto& [name, file] : files_) {
    if (file == nullptr) continue;
    const bool failed = fflush(file.get()) != 0 || ferror(file.get()) != 0;
    if (failed) {
      status_.Update(MakeStatus(absl::StatusCode::kUnavailable,
                                path_ + name + ".hdr could not be written: " + strerror(errno)));
    }
  }
  files_.clear();
  return status_;
}

}  // namespace dunlin::kvbench
