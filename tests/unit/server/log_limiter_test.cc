#include "server/log_limiter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/unique_fd.h"

namespace dunlin {
namespace {

TEST(LogLimiter, LeavesOutTheRestOfAFloodAndSaysSo) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  ManualClock clock;
  Logger logger({.fd = out.get()}, &clock);
  LogLimiter limiter(logger, 3, 1000);
  for (int i = 0; i < 10; ++i) limiter.Log(LogLevel::kWarning, 5000 + i, "again");
  limiter.Log(LogLevel::kWarning, 6200, "later");
  out.Reset();
  std::string text(65536, '\0');
  ssize_t n = read(in.get(), text.data(), text.size());
  ASSERT_GT(n, 0);
  text.resize(static_cast<size_t>(n));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  EXPECT_NE(text.find("7 more lines"), std::string::npos) << text;
  EXPECT_NE(text.find("later"), std::string::npos) << text;
}

}  // namespace
}  // namespace dunlin
