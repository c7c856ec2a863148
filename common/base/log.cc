#include "common/base/log.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

#include "common/base/text.h"

namespace dunlin {
namespace {

struct LevelNames {
  const char* text;
  const char* json;
};

LevelNames NamesOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return {"DEBUG", "debug"};
    case LogLevel::kInfo:
      return {"INFO", "info"};
    case LogLevel::kWarning:
      return {"WARNING", "warning"};
    case LogLevel::kError:
      return {"ERROR", "error"};
    case LogLevel::kOff:
      break;
  }
  return {"OFF", "off"};
}

std::string FormatTime(int64_t wall_nanos) {
  const time_t seconds = wall_nanos / 1'000'000'000;
  const int millis = static_cast<int>(wall_nanos % 1'000'000'000 / 1'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 96> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, millis);
  return buffer.data();
}

// UTF-8 passes, control bytes (also newlines) become \xhh.
std::string EscapeControl(std::string_view message) {
  std::string out;
  out.reserve(message.size());
  for (const char c : message) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += EscapeText(std::string_view(&c, 1));
    } else {
      out += c;
    }
  }
  return out;
}

bool WriteWhole(int fd, std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(fd, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    line.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

void Logger::Log(LogLevel level, std::string_view message) {
  if (!Enabled(level)) return;
  const LevelNames names = NamesOf(level);
  std::string line;
  if (options_.format == LogFormat::kJson) {
    line = "{\"time\":\"" + FormatTime(clock_->WallNanos()) + "\",\"level\":\"" + names.json +
           "\",\"message\":\"" + EscapeJson(message) + "\"}\n";
  } else {
    line = FormatTime(clock_->WallNanos()) + " " + names.text + " " + EscapeControl(message) + "\n";
  }
  if (!WriteWhole(options_.fd, line)) lost_lines_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace dunlin
