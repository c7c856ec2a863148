#include "common/base/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace dunlin {
namespace {

using testing::HasSubstr;

std::string ValueOf(std::string_view line) {
  const auto entries = ParseConfigText(line, "f");
  EXPECT_TRUE(entries.ok()) << entries.status();
  if (!entries.ok() || entries->size() != 1) return "(not one entry)";
  return entries->front().value;
}

std::string ErrorOf(std::string_view text) {
  const auto entries = ParseConfigText(text, "a.conf");
  EXPECT_FALSE(entries.ok()) << text;
  return std::string(entries.status().message());
}

TEST(ParseConfigText, CountsLinesAndSkipsCommentsAndBlanks) {
  const auto entries =
      ParseConfigText("# head\n\n  \t\r\nmemory = 8GiB\r\n  # more\n\tnuma-node=1", "f");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "memory");
  EXPECT_EQ((*entries)[0].value, "8GiB");
  EXPECT_EQ((*entries)[0].line, 4);
  EXPECT_EQ((*entries)[1].name, "numa-node");
  EXPECT_EQ((*entries)[1].value, "1");
  EXPECT_EQ((*entries)[1].line, 6);
  EXPECT_TRUE(ParseConfigText("", "f")->empty());
}

TEST(ParseConfigText, ValuesEndBeforeAComment) {
  EXPECT_EQ(ValueOf("a = b # c"), "b");
  EXPECT_EQ(ValueOf("a = b#c"), "b#c");
  EXPECT_EQ(ValueOf("a = #c"), "");
  EXPECT_EQ(ValueOf("a ="), "");
  EXPECT_EQ(ValueOf("a = b = c"), "b = c");
}

TEST(ParseConfigText, QuotedValuesAreVerbatim) {
  EXPECT_EQ(ValueOf("a = \" b # c \"   # d"), " b # c ");
  EXPECT_EQ(ValueOf("a = \"\\\"\\\\\""), "\"\\");
  EXPECT_EQ(ValueOf("a = \"\""), "");
}

TEST(ParseConfigText, ErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("a = 1\nmemory 8GiB"), HasSubstr("a.conf:2: expected 'name = value'"));
  EXPECT_THAT(ErrorOf("= 1"), HasSubstr("a.conf:1: expected a name"));
  EXPECT_THAT(ErrorOf("Memory = 1"), HasSubstr("expected a name"));
  EXPECT_THAT(ErrorOf("[section]"), HasSubstr("expected 'name = value'"));
  EXPECT_THAT(ErrorOf("a = \"b"), HasSubstr("isn't closed"));
  EXPECT_THAT(ErrorOf("a = \"b\\"), HasSubstr("isn't closed"));
  EXPECT_THAT(ErrorOf("a = \"\\n\""), HasSubstr("'\\'"));
  EXPECT_THAT(ErrorOf("a = \"b\" c"), HasSubstr("unexpected text 'c'"));
  EXPECT_THAT(ErrorOf(std::string_view("a = b\0", 6)), HasSubstr("control character"));
}

TEST(FormatConfigValue, QuotesWhatItMustAndReadsBack) {
  EXPECT_EQ(FormatConfigValue("8GiB"), "8GiB");
  EXPECT_EQ(FormatConfigValue("a b"), "a b");
  EXPECT_EQ(FormatConfigValue(" a"), "\" a\"");
  for (const std::string_view value : {"", "a#b", "a #b", "#", "\"", "\\", "a\\", " ", "\"a\" b"}) {
    EXPECT_EQ(ValueOf("n = " + FormatConfigValue(value) + "  # origin"), value);
  }
}

}  // namespace
}  // namespace dunlin
