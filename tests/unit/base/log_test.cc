#include "common/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/unique_fd.h"

namespace dunlin {
namespace {

class LoggerTest : public testing::Test {
 protected:
  LoggerTest() : file_(::memfd_create("log", MFD_CLOEXEC)) {
    EXPECT_TRUE(file_.valid());
    EXPECT_EQ(::fcntl(file_.get(), F_SETFL, O_APPEND), 0);
  }

  std::string Written() const {
    std::string text(static_cast<size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(file_.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  UniqueFd file_;
  ManualClock clock_{1, 1'767'225'600'123'456'789};
};

TEST_F(LoggerTest, WritesTimeLevelAndText) {
  Logger log({.fd = file_.get()}, &clock_);
  log.Info("serving 8GiB");
  clock_.Advance(1'000'000'000);
  log.Error("gone");
  EXPECT_EQ(Written(),
            "2026-01-01T00:00:00.123Z INFO serving 8GiB\n"
            "2026-01-01T00:00:01.123Z ERROR gone\n");
}

TEST_F(LoggerTest, WritesJsonLines) {
  Logger log({.fd = file_.get(), .format = LogFormat::kJson}, &clock_);
  log.Warning("a \"quoted\"\nline \xff");
  EXPECT_EQ(Written(),
            "{\"time\":\"2026-01-01T00:00:00.123Z\",\"level\":\"warning\","
            "\"message\":\"a \\\"quoted\\\"\\nline \\ufffd\"}\n");
}

TEST_F(LoggerTest, DropsWhatIsBelowItsLevel) {
  Logger log({.fd = file_.get(), .level = LogLevel::kWarning}, &clock_);
  log.Debug("no");
  log.Info("no");
  log.Warning("yes");
  EXPECT_FALSE(log.Enabled(LogLevel::kInfo));
  EXPECT_TRUE(log.Enabled(LogLevel::kError));
  EXPECT_EQ(Written(), "2026-01-01T00:00:00.123Z WARNING yes\n");

  Logger off({.fd = file_.get(), .level = LogLevel::kOff}, &clock_);
  off.Error("no");
  off.Log(LogLevel::kOff, "no");
  EXPECT_EQ(Written(), "2026-01-01T00:00:00.123Z WARNING yes\n");
}

TEST_F(LoggerTest, AMessageCannotForgeALine) {
  Logger log({.fd = file_.get()}, &clock_);
  log.Info("key a\n2026-01-01T00:00:00.000Z ERROR forged\x1b[0m");
  EXPECT_EQ(Written(),
            "2026-01-01T00:00:00.123Z INFO key a\\x0a2026-01-01T00:00:00.000Z ERROR "
            "forged\\x1b[0m\n");
}

TEST_F(LoggerTest, LinesOfSeveralThreadsDoNotMix) {
  Logger log({.fd = file_.get()}, &clock_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&log, text = std::string(200, static_cast<char>('a' + i))] {
      for (int line = 0; line < 250; ++line) log.Info(text);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string written = Written();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1000);
  for (std::string_view rest = written; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::string_view text = line.substr(line.size() - 200);
    ASSERT_EQ(text.find_first_not_of(text.front()), std::string_view::npos) << line;
    rest.remove_prefix(line.size() + 1);
  }
}

TEST_F(LoggerTest, CountsTheLinesThatGotLost) {
  UniqueFd read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Logger log({.fd = read_only.get()}, &clock_);
  log.Info("lost");
  log.Info("lost");
  EXPECT_EQ(log.lost_lines(), 2u);
}

}  // namespace
}  // namespace dunlin
