#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "common/base/clock.h"

namespace dunlin {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat : uint8_t { kText, kJson };

// Writes lines to a descriptor:
//
//   2026-01-01T00:00:00.000Z INFO serving 8GiB
//   {"time":"2026-01-01T00:00:00.000Z","level":"info","message":"serving 8GiB"}
//
// A line is one write(2), so lines of several threads don't mix and nothing is buffered when the
// process dies. Control bytes are escaped: a message never spans or forges lines. Thread safe. An
// object handed down by whoever owns the process; there is no global logger.
class Logger {
 public:
  struct Options {
    int fd = 2;  // not owned; must stay open
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
  };

  // `clock` must outlive the logger.
  Logger(const Options& options, const Clock* clock) : options_(options), clock_(clock) {}
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // Ask before building an expensive message.
  bool Enabled(LogLevel level) const { return level >= options_.level && level != LogLevel::kOff; }

  void Log(LogLevel level, std::string_view message);
  void Debug(std::string_view message) { Log(LogLevel::kDebug, message); }
  void Info(std::string_view message) { Log(LogLevel::kInfo, message); }
  void Warning(std::string_view message) { Log(LogLevel::kWarning, message); }
  void Error(std::string_view message) { Log(LogLevel::kError, message); }

  // Lines that the descriptor refused (full disk, closed pipe): lost, and counted here.
  uint64_t lost_lines() const { return lost_lines_.load(std::memory_order_relaxed); }

 private:
  const Options options_;
  const Clock* const clock_;
  std::atomic<uint64_t> lost_lines_{0};
};

}  // namespace dunlin
