#include "common/base/size_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace dunlin {
namespace {

TEST(ParseSize, AcceptsEveryUnit) {
  EXPECT_EQ(*ParseSize("0"), 0u);
  EXPECT_EQ(*ParseSize("512"), 512u);
  EXPECT_EQ(*ParseSize("512B"), 512u);
  EXPECT_EQ(*ParseSize("4KiB"), 4096u);
  EXPECT_EQ(*ParseSize("64MiB"), uint64_t{64} << 20);
  EXPECT_EQ(*ParseSize("8GiB"), uint64_t{8} << 30);
  EXPECT_EQ(*ParseSize("2TiB"), uint64_t{2} << 40);
  EXPECT_EQ(*ParseSize("18446744073709551615"), std::numeric_limits<uint64_t>::max());
}

TEST(ParseSize, RefusesAllElseAndSaysWhatIsAccepted) {
  for (const char* text : {"", " 1", "1 ", "1 GiB", "-1", "+1", "1.5GiB", "1G", "1GB", "1gib",
                           "GiB", "0x10", "1GiBB", "18446744073709551616", "16777216TiB"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size.ok()) << text;
    const std::string message(size.status().message());
    EXPECT_NE(message.find("'" + std::string(text) + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("8GiB"), std::string::npos) << message;
  }
  EXPECT_EQ(*ParseSize("16777215TiB"), uint64_t{16777215} << 40);
}

TEST(FormatSize, IsExactAndReadsBack) {
  EXPECT_EQ(FormatSize(0), "0B");
  EXPECT_EQ(FormatSize(1023), "1023B");
  EXPECT_EQ(FormatSize(1024), "1KiB");
  EXPECT_EQ(FormatSize(1025), "1025B");
  EXPECT_EQ(FormatSize(uint64_t{3} << 29), "1536MiB");
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_EQ(*ParseSize(FormatSize(bytes)), bytes);
  }
}

TEST(ParseDuration, AcceptsEveryUnit) {
  EXPECT_EQ(*ParseDuration("0"), 0);
  EXPECT_EQ(*ParseDuration("250ns"), 250);
  EXPECT_EQ(*ParseDuration("10us"), 10'000);
  EXPECT_EQ(*ParseDuration("100ms"), 100'000'000);
  EXPECT_EQ(*ParseDuration("1s"), 1'000'000'000);
  EXPECT_EQ(*ParseDuration("2m"), 120'000'000'000);
  EXPECT_EQ(*ParseDuration("3h"), 10'800'000'000'000);
  EXPECT_EQ(*ParseDuration("9223372036854775807ns"), std::numeric_limits<int64_t>::max());
}

TEST(ParseDuration, RefusesAllElse) {
  for (const char* text :
       {"", "5", "1d", "1.5s", "-1s", "1 s", "s", "9223372036854775808ns", "2562048h"}) {
    EXPECT_EQ(ParseDuration(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(FormatDuration, IsExactAndReadsBack) {
  EXPECT_EQ(FormatDuration(0), "0ns");
  EXPECT_EQ(FormatDuration(1500), "1500ns");
  EXPECT_EQ(FormatDuration(90'000'000'000), "90s");
  EXPECT_EQ(FormatDuration(120'000'000'000), "2m");
  for (const int64_t nanos : {int64_t{1}, int64_t{100'000'000}, int64_t{7'200'000'000'000}}) {
    EXPECT_EQ(*ParseDuration(FormatDuration(nanos)), nanos);
  }
}

}  // namespace
}  // namespace dunlin
