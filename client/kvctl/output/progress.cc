#include "client/kvctl/output/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/base/text.h"

namespace dunlin::kvctl {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBarInterval = kSecond / 10;
constexpr int64_t kLineInterval = 5 * kSecond;
constexpr int kBarCells = 20;
constexpr std::string_view kClearLine = "\r\x1b[K";

std::string Bar(double fraction) {
  const int full = static_cast<int>(fraction * kBarCells);
  std::string bar = "[";
  bar.append(full, '=');
  if (full < kBarCells) bar.push_back('>');
  bar.resize(1 + kBarCells, ' ');
  bar.push_back(']');
  return bar;
}

// 0:05, 12:34, 1:02:03.
std::string ClockText(int64_t seconds) {
  char text[32];
  if (seconds < 3600) {
    std::snprintf(text, sizeof(text), "%d:%02d", static_cast<int>(seconds / 60),
                  static_cast<int>(seconds % 60));
  } else {
    std::snprintf(text, sizeof(text), "%lld:%02d:%02d", static_cast<long long>(seconds / 3600),
                  static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  }
  return text;
}

}  // namespace

Progress::Progress(Options options, const Clock* clock, ByteSink* sink)
    : options_(std::move(options)),
      clock_(clock),
      sink_(sink),
      style_(options_.mode == ProgressMode::kNever    ? Style::kNone
             : options_.terminal                      ? Style::kBar
             : options_.mode == ProgressMode::kAlways ? Style::kLines
                                                      : Style::kNone),
      start_nanos_(clock->NowNanos()),
      next_nanos_(start_nanos_ + (style_ == Style::kBar ? kBarInterval : kLineInterval)) {}

void Progress::Update(const State& state) {
  if (style_ == Style::kNone) return;
  const int64_t now = clock_->NowNanos();
  if (now < next_nanos_) return;
  // The last line is Finish's.
  if (style_ == Style::kLines && state.fraction >= 1.0) return;
  next_nanos_ = now + (style_ == Style::kBar ? kBarInterval : kLineInterval);
  Draw(state, now);
}

void Progress::Finish(const State& state) {
  if (style_ == Style::kNone) return;
  Draw(state, clock_->NowNanos());
  if (style_ == Style::kBar) Emit("\n");
  style_ = Style::kNone;
}

void Progress::Hide() {
  if (style_ != Style::kBar || !drawn_) return;
  Emit(kClearLine);
  drawn_ = false;
}

void Progress::Draw(const State& state, int64_t now) {
  if (style_ == Style::kLines) {
    Emit(Describe(state, now, false) + "\n");
    return;
  }
  std::string text = Describe(state, now, true);
  // A wrapped line could not be overwritten. All text is ASCII, so bytes are columns.
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(options_.columns - 1, 0))));
  Emit(std::string(kClearLine) + text);
  drawn_ = true;
}

std::string Progress::Describe(const State& state, int64_t now, bool with_bar) const {
  const double seconds = static_cast<double>(now - start_nanos_) / kSecond;
  std::string text = options_.label;
  if (state.fraction.has_value()) {
    const double fraction = std::clamp(*state.fraction, 0.0, 1.0);
    if (with_bar) text += " " + Bar(fraction);
    // Rounded down: 100 % means that all is done.
    text += "  " + FormatPercent(std::floor(fraction * 1000) / 1000);
  }
  text += "  " + FormatCount(state.done) + " " + options_.unit;
  if (state.failed > 0) text += "  " + FormatCount(state.failed) + " failed";
  if (state.bytes > 0) text += "  " + FormatRoundedSize(state.bytes);
  if (seconds > 0) {
    text += "  " + FormatRate(static_cast<double>(state.done) / seconds);
    if (state.fraction.has_value() && *state.fraction > 0 && *state.fraction < 1) {
      const double left = seconds / *state.fraction - seconds;
      // More than a year is no forecast.
      if (left < 365.0 * 86'400) text += "  " + ClockText(std::llround(left)) + " left";
    } else {
      text += "  " + ClockText(std::llround(seconds));
    }
  }
  return text;
}

void Progress::Emit(std::string_view text) {
  if (!sink_->Write(text).ok() || !sink_->Flush().ok()) style_ = Style::kNone;
}

}  // namespace dunlin::kvctl
