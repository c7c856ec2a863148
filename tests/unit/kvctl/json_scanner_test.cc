#include "client/kvctl/formats/json_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(FromAbsl(status.message())); }

absl::StatusOr<std::string> ParseString(std::string_view text) {
  JsonScanner scanner(text);
  std::string out;
  DUNLIN_RETURN_IF_ERROR(scanner.TakeString(&out));
  DUNLIN_RETURN_IF_ERROR(scanner.ExpectEnd());
  return out;
}

TEST(JsonScanner, Strings) {
  EXPECT_EQ(*ParseString(R"("")"), "");
  EXPECT_EQ(*ParseString(R"( "a b" )"), "a b");
  EXPECT_EQ(*ParseString(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(*ParseString(R"("\u0041\u00fC\u20AC")"), "A\xc3\xbc\xe2\x82\xac");
  EXPECT_EQ(*ParseString(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(*ParseString(R"("\ud83d\ude00")"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(*ParseString(R"("\uDBFF\uDFFF")"), "\xf4\x8f\xbf\xbf");
  EXPECT_EQ(*ParseString("\"\xc3\xbc\x7f\""), "\xc3\xbc\x7f");
}

TEST(JsonScanner, StringErrorsNameTheColumn) {
  const std::pair<std::string, const char*> cases[] = {
      {R"(abc)", "column 1: expected a string, found 'a'"},
      {R"("abc)", "column 5: expected '\"' at the end of a string, found the end"},
      {R"("a\)", "column 4: expected one of \" \\ / b f n r t u after a backslash, found the end"},
      {R"("a\x")", "column 4"},
      {R"("\u12g4")", "column 6: expected four hexadecimal digits"},
      {R"("\u12)", "column 6: expected four hexadecimal digits"},
      {R"("\ud800")", "column 8: expected \\u and a low surrogate"},
      {R"("\ud800\u0041")", "expected a low surrogate"},
      {R"("\ud800\ud800")", "expected a low surrogate"},
      {R"("\udc00")", "expected a high surrogate"},
      {"\"a\tb\"", "column 3: expected an escape for a control character, found '\\t'"},
      {"\"a\x80\"", "column 3: expected UTF-8"},
      {"\"\xed\xa0\x80\"", "column 2: expected UTF-8"},
      {"\"\xc0\x80\"", "column 2: expected UTF-8"},
      {"\"\xc3\"", "column 2: expected UTF-8"},
      {R"("a" b)", "column 5: expected the end of the line, found 'b'"},
      {std::string("\"a\0\"", 4), "column 3: expected an escape for a control character"},
  };
  for (const auto& [text, message] : cases) {
    const absl::StatusOr<std::string> result = ParseString(text);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Message(result.status()), HasSubstr(message)) << text;
  }
}

absl::StatusOr<uint64_t> ParseNumber(std::string_view text) {
  JsonScanner scanner(text);
  DUNLIN_ASSIGN_OR_RETURN(const uint64_t value, scanner.TakeUnsigned());
  DUNLIN_RETURN_IF_ERROR(scanner.ExpectEnd());
  return value;
}

TEST(JsonScanner, Numbers) {
  EXPECT_EQ(*ParseNumber("0"), 0u);
  EXPECT_EQ(*ParseNumber(" 18446744073709551615 "), 18446744073709551615u);
  for (const char* text : {"", "-1", "+1", "01", "00", "1.5", "1e3", "1E3", "18446744073709551616",
                           "1x", "\"1\"", "0x1", "null"}) {
    EXPECT_EQ(ParseNumber(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(JsonScanner, TokensSkipWhiteSpaceOfJsonOnly) {
  JsonScanner scanner(" \t\r\n{\v}");
  EXPECT_EQ(scanner.NextColumn(), 5u);
  EXPECT_FALSE(scanner.Accept('}'));
  EXPECT_TRUE(scanner.Accept('{'));
  EXPECT_FALSE(scanner.Accept('}'));
  EXPECT_THAT(Message(scanner.Expect('}')), HasSubstr("column 6: expected '}', found '\\x0b'"));
}

}  // namespace
}  // namespace dunlin::kvctl
