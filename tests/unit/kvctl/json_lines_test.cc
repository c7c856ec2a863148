#include "client/kvctl/formats/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/kvctl/record_stream_testing.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ReadResult Read(std::string_view bytes, const RecordLimits& limits = {}) {
  return ReadAll(Format::kJsonLines, Encoding::kText, bytes, std::string_view::npos, limits);
}

TEST(JsonLines, RoundTripIsExact) {
  const std::vector<Record> records = RandomRecords(7, 2000);
  for (const Encoding encoding : {Encoding::kText, Encoding::kHex, Encoding::kBase64}) {
    StringSink sink;
    JsonLinesWriter writer(encoding, sink);
    for (const Record& record : records) ASSERT_TRUE(writer.Write(record).ok());
    const ReadResult result = ReadAll(Format::kJsonLines, Encoding::kText, sink.bytes(), 97);
    EXPECT_THAT(result.errors, IsEmpty());
    EXPECT_EQ(result.records, records);
  }
}

TEST(JsonLines, Forms) {
  const ReadResult result = Read(
      "{\"key\":\"k\",\"value\":\"v\"}\n"
      " { \"ttl_ms\" : 5 , \"value_hex\" : \"00ff\" , \"key_base64\" : \"Zm9v\" } \n"
      "{\"key_hex\":\"6b\",\"value_base64\":\"\"}");
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(result.records,
              ElementsAre(Record{"k", "v", {}}, Record{"foo", std::string("\0\xff", 2), 5},
                          Record{"k", "", {}}));
}

TEST(JsonLines, ErrorsNameLineAndReasonAndReadingGoesOn) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "line 1, column 1: expected '{', found the end"},
      {"[]", "line 1, column 1: expected '{', found '['"},
      {"{}", "line 1, no member \"key\""},
      {R"({"key":"a"})", "line 1, no member \"value\""},
      {R"({"key":"a","value":"b","x":1})", "line 1, column 24: unknown member \"x\""},
      {R"({"key":"a","value":"b","key":"a"})", "line 1, column 24: the key is given twice"},
      {R"({"key":"a","value":"b","value_hex":""})", "the value is given twice"},
      {R"({"key":"a","value":"b","ttl_ms":1,"ttl_ms":1})", "\"ttl_ms\" is given twice"},
      {R"({"key":"a","value":"b","ttl_ms":0})", "\"ttl_ms\" is 0, expected 1 to"},
      {R"({"key":"a","value":"b","ttl_ms":9223372036854775808})", "expected 1 to 2^63 - 1"},
      {R"({"key":"a","value":"b","ttl_ms":1.5})", "column 34: expected a whole number"},
      {R"({"key":"a","value":"b","ttl_ms":null})", "expected a number"},
      {R"({"key":"a","value":7})", "line 1, column 20: expected a string, found '7'"},
      {R"({"key":"","value":"b"})", "the key has 0 bytes, expected 1 to 65535"},
      {R"({"key_hex":"6","value":"b"})", "column 2: expected an even number of hexadecimal digits"},
      {R"({"key":"a","value_base64":"Zg"})", "column 12: expected base64 text in groups of four"},
      {R"({"key":"a","value":"b",})", "column 24: expected a string, found '}'"},
      {R"({"key":"a" "value":"b"})", "column 12: expected '}', found '\"'"},
      {R"({"key":"a","value":"b"}x)", "column 24: expected the end of the line, found 'x'"},
      {R"({"_hex":"a","value":"b"})", "unknown member \"_hex\""},
      {R"({"value_hex_base64":"","key":"a"})", "unknown member"},
      {"{\"key\":\"a\x80\",\"value\":\"b\"}", "column 10: expected UTF-8"},
  };
  for (const auto& [line, message] : cases) {
    const ReadResult result = Read(line + "\n{\"key\":\"k\",\"value\":\"v\"}\n");
    EXPECT_THAT(result.errors, ElementsAre(HasSubstr(message))) << line;
    EXPECT_THAT(result.records, ElementsAre(Record{"k", "v", {}})) << line;
    EXPECT_THAT(result.lines, ElementsAre(1, 2)) << line;
  }
}

TEST(JsonLines, LimitsApplyToTheDecodedBytes) {
  const RecordLimits limits{.max_key = 2, .max_value = 3};
  EXPECT_THAT(Read(R"({"key":"\u0041\u0041","value_hex":"000102"})", limits).errors, IsEmpty());
  EXPECT_THAT(Read(R"({"key":"abc","value":""})", limits).errors,
              ElementsAre(HasSubstr("the key has 3 bytes, expected 1 to 2")));
  EXPECT_THAT(Read(R"({"key":"a","value":"abcd"})", limits).errors,
              ElementsAre(HasSubstr("the value has 4 bytes, expected 0 to 3")));
}

TEST(JsonLines, TheLongestRecordInItsLongestFormFits) {
  const RecordLimits limits{.max_key = 100, .max_value = 5000};
  std::string line = "{\"key\":\"";
  for (size_t i = 0; i < limits.max_key; ++i) line += "\\u0001";
  line += "\",\"value\":\"";
  for (size_t i = 0; i < limits.max_value; ++i) line += "\\u0000";
  line += "\"}";
  const ReadResult result = Read(line, limits);
  EXPECT_THAT(result.errors, IsEmpty());
  ASSERT_EQ(result.records.size(), 1u);
  EXPECT_EQ(result.records[0].value, std::string(5000, '\0'));
  EXPECT_THAT(Read(std::string(100'000, ' ') + line, limits).errors,
              ElementsAre(HasSubstr("line 1 is longer than the limit of")));
}

}  // namespace
}  // namespace dunlin::kvctl
