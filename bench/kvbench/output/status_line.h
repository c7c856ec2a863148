#pragma once

#include <cstdint>
#include <string>

#include "bench/kvbench/driver/runner.h"

namespace dunlin::kvbench {

// Progress on standard error: YCSB's line now and then, or on a terminal a bar that stays in place.
class StatusLine final : public RunObserver {
 public:
  struct Options {
    std::string label = {};
    double seconds = 10;  // between two lines
    bool terminal = false;
    uint64_t operations = 0;  // of the whole phase; 0: no end
    double max_seconds = 0;   // 0: no limit
  };
  // `empty` is a set to begin with.
  StatusLine(Options options, MetricSet empty)
      : options_(std::move(options)), collected_(std::move(empty)) {}

  void OnInterval(const IntervalView& interval) override;
  // Prints what is left, and leaves the bar's line.
  void Finish();

  // For tests: what is printed. `unix_nanos` is the interval's end, in the local time zone.
  static std::string YcsbLine(const Options& options, const IntervalView& interval,
                              int64_t unix_nanos);
  static std::string BarLine(const Options& options, const IntervalView& interval);

 private:
  void PrintLine();

  const Options options_;
  MetricSet collected_;  // since the last line
  double collected_seconds_ = 0;
  uint64_t collected_operations_ = 0;
  double end_seconds_ = 0;
  uint64_t operations_so_far_ = 0;
  bool bar_shown_ = false;
};

// "1 hour 5 minutes ", "42 seconds ": as YCSB says what is left.
std::string RemainingText(uint64_t seconds);

}  // namespace dunlin::kvbench
