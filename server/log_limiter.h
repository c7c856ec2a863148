#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/log.h"

namespace dunlin {

// Keeps a misbehaving peer from filling the disk: at most `burst` lines in each period of
// `period_ticks`, then one line that says how many were left out. Not thread safe.
class LogLimiter {
 public:
  LogLimiter(Logger& logger, uint32_t burst, uint64_t period_ticks)
      : logger_(logger), burst_(burst), period_(period_ticks) {}

  void Log(LogLevel level, uint64_t tick, std::string_view line) {
    if (tick - start_ >= period_) {
      if (dropped_ > 0) {
        logger_.Log(level, std::to_string(dropped_) + " more lines of this kind were left out");
      }
      start_ = tick;
      lines_ = dropped_ = 0;
    }
    if (lines_ < burst_) {
      ++lines_;
      logger_.Log(level, line);
    } else {
      ++dropped_;
    }
  }

 private:
  Logger& logger_;
  const uint32_t burst_;
  const uint64_t period_;
  uint64_t start_ = 0;
  uint32_t lines_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace dunlin
