#include "common/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"

namespace dunlin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Text, RoundedNumbers) {
  EXPECT_EQ(FormatFixed(1234.567, 1), "1234.6");
  EXPECT_EQ(FormatFixed(std::numeric_limits<double>::max(), 2).size(), 312u);
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatPercent(0.1234), "12.3 %");
  EXPECT_EQ(FormatPercent(1, 0), "100 %");
}

TEST(Text, RoundedSizes) {
  EXPECT_EQ(FormatRoundedSize(0), "0 B");
  EXPECT_EQ(FormatRoundedSize(1023), "1023 B");
  EXPECT_EQ(FormatRoundedSize(1024), "1.00 KiB");
  EXPECT_EQ(FormatRoundedSize(uint64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(FormatRoundedSize(uint64_t{15} << 20), "15.0 MiB");
  EXPECT_EQ(FormatRoundedSize((uint64_t{1} << 20) - 1), "1.00 MiB");
}

TEST(Text, RoundedDurationsAndRates) {
  EXPECT_EQ(FormatRoundedDuration(0), "0.00 ns");
  EXPECT_EQ(FormatRoundedDuration(110), "110 ns");
  EXPECT_EQ(FormatRoundedDuration(1234567), "1.23 ms");
  EXPECT_EQ(FormatRoundedDuration(999'999), "1.00 ms");
  EXPECT_EQ(FormatRate(1234567), "1.23 M/s");
  EXPECT_EQ(FormatRate(12), "12.0 /s");
}

TEST(Text, EscapeTextIsPrintable) {
  EXPECT_EQ(EscapeText("plain key"), "plain key");
  EXPECT_EQ(EscapeText(std::string_view("a\0\n\\\xff", 5)), "a\\x00\\x0a\\\\\\xff");
}

TEST(Text, EscapeJsonKeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(EscapeJson("a\"b\\c\n\t\r\x01"), "a\\\"b\\\\c\\n\\t\\r\\u0001");
  EXPECT_EQ(EscapeJson("\u00e4\u20ac\U0001f600"), "\u00e4\u20ac\U0001f600");
  // A lone continuation, an overlong slash, a surrogate, a value above U+10FFFF, a cut sequence.
  EXPECT_EQ(EscapeJson("\x80"), "\\ufffd");
  EXPECT_EQ(EscapeJson("\xc0\xaf"), "\\ufffd\\ufffd");
  EXPECT_EQ(EscapeJson("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd");
  EXPECT_EQ(EscapeJson("\xf4\x90\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd");
  EXPECT_EQ(EscapeJson("\xe2\x82"), "\\ufffd\\ufffd");
}

TEST(Text, EditDistanceCountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("memory", "memroy"), 2u);
}

TEST(Text, NearMatchesAreOrderedAndFew) {
  const std::vector<std::string_view> names = {"memory", "memory-limit", "socket", "sockets",
                                               "numa"};
  EXPECT_THAT(NearMatches("memroy", names), ElementsAre("memory"));
  EXPECT_THAT(NearMatches("mem", names), ElementsAre("memory", "memory-limit"));
  EXPECT_THAT(NearMatches("socke", names), ElementsAre("socket", "sockets"));
  EXPECT_THAT(NearMatches("zzzzzz", names), IsEmpty());
  EXPECT_THAT(NearMatches("", names), IsEmpty());
  EXPECT_THAT(NearMatches(std::string(1000, 'm'), names), IsEmpty());
}

TEST(Bytes, ViewsShareTheMemory) {
  std::string text("a\0b", 3);
  const Bytes bytes = AsBytes(text);
  ASSERT_EQ(bytes.size(), 3u);
  EXPECT_EQ(bytes[2], std::byte{'b'});
  EXPECT_EQ(AsText(bytes), text);
  EXPECT_EQ(static_cast<const void*>(AsText(bytes).data()), text.data());
  AsMutableBytes(text)[0] = std::byte{'z'};
  EXPECT_EQ(text[0], 'z');
}

}  // namespace
}  // namespace dunlin
