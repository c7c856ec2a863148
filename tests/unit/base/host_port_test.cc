#include "common/base/host_port.h"

#include <gtest/gtest.h>

namespace dunlin {
namespace {

TEST(HostPortTest, ReadsAndWritesEveryForm) {
  for (const char* text : {"localhost:7471", "10.0.0.1:0", "[::1]:65535", "[fe80::1%eth0]:1"}) {
    auto address = ParseHostPort(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(FormatHostPort(*address), text);
  }
  EXPECT_EQ(ParseHostPort("[fe80::1%eth0]:1")->host, "fe80::1%eth0");
}

TEST(HostPortTest, RefusesAllElse) {
  for (const char* text : {"", ":", "host", "host:", ":1", "host:x", "host:65536", "host:123456",
                           "::1:7", "[::1]7", "[host]:1", "[]:1", "a b:1", "tcp://h:1", "h:-1"}) {
    auto address = ParseHostPort(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace dunlin
