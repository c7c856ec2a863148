#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "bench/kvbench/driver/runner.h"

namespace dunlin::kvbench {

// A file <path><NAME>.hdr for each metric, in the format of HdrHistogram's logs (1.3), a line an
// interval, as YCSB's hdrhistogram.fileoutput does. Values are in nanoseconds, where YCSB's are in
// microseconds.
class HdrLog final : public RunObserver {
 public:
  // An interval takes at least `seconds`. `intended`: also of intended latencies. `empty` is a set
  // to begin with.
  HdrLog(std::string path, double seconds, bool intended, MetricSet empty)
      : path_(std::move(path)),
        seconds_(seconds),
        intended_(intended),
        collected_(std::move(empty)) {}

  void OnInterval(const IntervalView& interval) override;
  // Writes the rest, and says whether all could be written.
  absl::Status Finish();

 private:
  struct Close {
    void operator()(FILE* file) const { fclose(file); }
  };
  using File = std::unique_ptr<FILE, Close>;

  void WriteInterval();
  absl::Status WriteLine(const std::string& name, const Histogram& histogram);
  absl::Status Open(const std::string& name, File& file) const;

  const std::string path_;
  const double seconds_;
  const bool intended_;
  MetricSet collected_;
  double start_ = 0, end_ = 0;  // of what was collected, seconds since the start
  int64_t base_unix_nanos_ = 0;
  std::map<std::string, File> files_;
  absl::Status status_;
};

}  // namespace dunlin::kvbench
