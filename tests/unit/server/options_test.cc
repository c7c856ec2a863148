#include "server/options.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

ServerOptions Good() {
  ServerOptions options;
  options.socket = "/tmp/x.sock";
  return options;
}

TEST(ServerOptions, DefaultsAreGood) { EXPECT_TRUE(CheckOptions(Good()).ok()); }

TEST(ServerOptions, DefaultSocketPath) {
  EXPECT_EQ(DefaultSocketPath(true, "/run/user/0", 0), "/run/dunlin/dunlin.sock");
  EXPECT_EQ(DefaultSocketPath(false, "/run/user/5", 5), "/run/user/5/dunlin.sock");
  EXPECT_EQ(DefaultSocketPath(false, nullptr, 5), "/tmp/dunlin-5.sock");
  EXPECT_EQ(DefaultSocketPath(false, "", 5), "/tmp/dunlin-5.sock");
}

TEST(ServerOptions, Mode) {
  EXPECT_EQ(*ParseMode("0660"), 0660u);
  EXPECT_EQ(*ParseMode("600"), 0600u);
  for (const char* bad : {"", "8", "1777", "rw", "00660", "-1"}) EXPECT_FALSE(ParseMode(bad).ok());
}

TEST(ServerOptions, WhatOneOptionAloneCannotSay) {
  ServerOptions options = Good();
  options.socket = "relative.sock";
  EXPECT_FALSE(CheckOptions(options).ok());
  options.socket = "/" + std::string(107, 'x');
  EXPECT_FALSE(CheckOptions(options).ok());
  options.socket.pop_back();
  EXPECT_TRUE(CheckOptions(options).ok());
  options.socket_mode = "abc";
  EXPECT_FALSE(CheckOptions(options).ok());
  options = Good();
  options.region_dir = "/dev/shm";
  EXPECT_TRUE(CheckOptions(options).ok());
  options.huge_pages = static_cast<size_t>(HugePages::kAlways);
  EXPECT_FALSE(CheckOptions(options).ok());
  options = Good();
  options.grace = 20'000'001;
  EXPECT_FALSE(CheckOptions(options).ok());
}

TEST(ServerOptions, EveryOptionIsReadAndPrintedBack) {
  ServerOptions options = Good();
  OptionSet set("dunlin-server", "test");
  DeclareOptions(options, set);
  const char* arguments[] = {"--memory", "8GiB", "--huge-pages=never", "--lock-memory"};
  const char* environment[] = {"DUNLIN_GRACE=500ms", "DUNLIN_MEMORY=1GiB", "PATH=/bin"};
  auto action = set.Read(arguments, environment);
  ASSERT_TRUE(action.ok()) << action.status();
  EXPECT_EQ(options.memory, uint64_t{8} << 30);
  EXPECT_EQ(options.grace, 500'000'000);
  EXPECT_EQ(options.huge(), HugePages::kNever);
  EXPECT_TRUE(options.lock_memory);
  EXPECT_NE(set.PrintConfig().find("DUNLIN_GRACE"), std::string::npos) << set.PrintConfig();
}

TEST(ServerOptions, LimitsAreChecked) {
  for (const char* argument : {"--memory=1MiB", "--grace=1ms", "--max-sessions=0", "--memory=lots",
                               "--max-value-size=2GiB", "--huge-pages=maybe", "--patrol-percent=0",
                               "--patrol-percent=101", "--patrol-period=0s", "--lock-patience=1ms",
                               "--hold-patience=1ms", "--mode=both", "--no-such-option=1"}) {
    ServerOptions options = Good();
    OptionSet set("dunlin-server", "test");
    DeclareOptions(options, set);
    const char* arguments[] = {argument};
    EXPECT_FALSE(set.Read(arguments, {}).ok()) << argument;
  }
}

}  // namespace
}  // namespace dunlin
