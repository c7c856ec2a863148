#include "bench/kvbench/output/status_line.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "common/base/clock.h"
#include "common/base/text.h"

namespace dunlin::kvbench {
namespace {

// Java's DecimalFormat("#.##").
std::string TwoDigits(double value) {
  std::string text = FormatFixed(value, 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Micros(uint64_t nanos) { return std::to_string(nanos / 1000); }

std::string LocalTime(int64_t unix_nanos) {
  const time_t seconds = unix_nanos / 1'000'000'000;
  tm parts{};
  localtime_r(&seconds, &parts);
  char text[64];
  const size_t length = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  char millis[8];
  std::snprintf(millis, sizeof(millis), ":%03d", static_cast<int>(unix_nanos / 1'000'000 % 1000));
  return std::string(text, length) + millis;
}

// How long the phase goes on at this pace; unset if that can't be told.
std::optional<double> SecondsLeft(const StatusLine::Options& options,
                                  const IntervalView& interval) {
  std::optional<double> left;
  if (options.max_seconds > 0) left = std::max(0.0, options.max_seconds - interval.end_seconds);
  if (options.operations > 0 && interval.operations_so_far > 0) {
    const auto done = static_cast<double>(interval.operations_so_far);
    const auto todo = static_cast<double>(options.operations) - done;
    const double needed = std::max(0.0, todo) * interval.end_seconds / done;
    left = left ? std::min(*left, needed) : needed;
  }
  return left;
}

double ShareDone(const StatusLine::Options& options, const IntervalView& interval) {
  double share = 0;
  if (options.max_seconds > 0) share = interval.end_seconds / options.max_seconds;
  if (options.operations > 0) {
    share = std::max(share, static_cast<double>(interval.operations_so_far) /
                                static_cast<double>(options.operations));
  }
  return std::min(share, 1.0);
}

std::string Rate(const IntervalView& interval) {
  return TwoDigits(
      interval.seconds > 0 ? static_cast<double>(interval.operations) / interval.seconds : 0);
}

}  // namespace

std::string RemainingText(uint64_t seconds) {
  const uint64_t days = seconds / 86400, hours = seconds / 3600 % 24, minutes = seconds / 60 % 60;
  std::string text;
  const auto add = [&text](uint64_t count, const char* unit) {
    text += std::to_string(count) + " " + unit + (count == 1 ? " " : "s ");
  };
  if (days > 0) add(days, "day");
  if (hours > 0) add(hours, "hour");
  if (days == 0 && minutes > 0) add(minutes, "minute");
  if (text.empty()) add(seconds % 60, "second");
  return text;
}

std::string StatusLine::YcsbLine(const Options& options, const IntervalView& interval,
                                 int64_t unix_nanos) {
  std::string line = options.label + LocalTime(unix_nanos) + " " +
                     std::to_string(static_cast<uint64_t>(interval.end_seconds)) +
                     " sec: " + std::to_string(interval.operations_so_far) + " operations; ";
  if (interval.operations_so_far > 0) line += Rate(interval) + " current ops/sec; ";
  if (const std::optional<double> left = SecondsLeft(options, interval)) {
    line += "est completion in " + RemainingText(static_cast<uint64_t>(std::ceil(*left)));
  }
  interval.metrics.ForEach([&](const std::string& name, MetricId, bool,
                               const MetricSet::Latency* latency) {
    if (latency == nullptr) return;
    const Histogram& call = latency->call;
    line += "[" + name + ": Count=" + std::to_string(call.count()) + ", Max=" + Micros(call.max()) +
            ", Min=" + Micros(call.min()) + ", Avg=" + TwoDigits(call.Mean() / 1000) +
            ", 50=" + Micros(call.Percentile(50)) + ", 90=" + Micros(call.Percentile(90)) +
            ", 99=" + Micros(call.Percentile(99)) + ", 99.9=" + Micros(call.Percentile(99.9)) +
            ", 99.99=" + Micros(call.Percentile(99.99)) + "] ";
  });
  return line;
}

std::string StatusLine::BarLine(const Options& options, const IntervalView& interval) {
  std::string line;
  if (options.operations > 0 || options.max_seconds > 0) {
    constexpr size_t kWidth = 24;
    const double share = ShareDone(options, interval);
    const auto filled = static_cast<size_t>(share * kWidth);
    line += "[" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " +
            std::to_string(static_cast<int>(share * 100)) + " %  ";
  }
  line += FormatRate(
      interval.seconds > 0 ? static_cast<double>(interval.operations) / interval.seconds : 0);
  interval.metrics.ForEach(
      [&](const std::string& name, MetricId, bool, const MetricSet::Latency* latency) {
        if (latency == nullptr) return;
        line += "  " + name + " p99 " +
                FormatRoundedDuration(static_cast<double>(latency->call.Percentile(99)));
      });
  if (const std::optional<double> left = SecondsLeft(options, interval)) {
    line += "  " + RemainingText(static_cast<uint64_t>(std::ceil(*left))) + "left";
  }
  return line;
}

void StatusLine::OnInterval(const IntervalView& interval) {
  if (options_.terminal) {
    // Back to the line's start, and what was behind the new text erased.
    std::fprintf(stderr, "\r%s\x1b[K", BarLine(options_, interval).c_str());
    std::fflush(stderr);
    bar_shown_ = true;
    return;
  }
  collected_.Merge(interval.metrics);
  collected_seconds_ += interval.seconds;
  collected_operations_ += interval.operations;
  end_seconds_ = interval.end_seconds;
  operations_so_far_ = interval.operations_so_far;
  // A tick that came a little early is still this one's.
  if (collected_seconds_ >= options_.seconds * 0.99) PrintLine();
}

void StatusLine::PrintLine() {
  const IntervalView all{.end_seconds = end_seconds_,
                         .seconds = collected_seconds_,
                         .operations = collected_operations_,
                         .operations_so_far = operations_so_far_,
                         .metrics = collected_};
  const int64_t now = SystemClock::Shared().WallNanos();
  std::fprintf(stderr, "%s\n", YcsbLine(options_, all, now).c_str());
  collected_.Reset();
  collected_seconds_ = 0;
  collected_operations_ = 0;
}

void StatusLine::Finish() {
  if (bar_shown_) std::fputc('\n', stderr);
  bar_shown_ = false;
  if (collected_seconds_ > 0) PrintLine();
}

}  // namespace dunlin::kvbench
