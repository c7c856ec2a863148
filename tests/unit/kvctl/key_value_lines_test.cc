#include "client/kvctl/formats/key_value_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/kvctl/record_stream_testing.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ReadResult Read(std::string_view bytes, Encoding encoding = Encoding::kText,
                const RecordLimits& limits = {}) {
  return ReadAll(Format::kKeyValueLines, encoding, bytes, std::string_view::npos, limits);
}

TEST(KeyValueLines, RoundTripIsExact) {
  std::vector<Record> records = RandomRecords(8, 2000);
  for (Record& record : records) record.ttl_ms.reset();
  for (const Encoding encoding : {Encoding::kText, Encoding::kHex, Encoding::kBase64}) {
    StringSink sink;
    KeyValueLinesWriter writer(encoding, sink);
    EXPECT_FALSE(writer.keeps_ttl());
    for (const Record& record : records) ASSERT_TRUE(writer.Write(record).ok());
    const ReadResult result = ReadAll(Format::kKeyValueLines, encoding, sink.bytes(), 89);
    EXPECT_THAT(result.errors, IsEmpty());
    EXPECT_EQ(result.records, records);
  }
}

TEST(KeyValueLines, Text) {
  EXPECT_THAT(Read("k\tv\nk\\t2\ta\tb\\n\r\n\xff\t\nlast\tone").records,
              ElementsAre(Record{"k", "v", {}}, Record{"k\t2", "a\tb\n\r", {}},
                          Record{"\xff", "", {}}, Record{"last", "one", {}}));
}

TEST(KeyValueLines, ErrorsNameLineAndReasonAndReadingGoesOn) {
  const ReadResult result = Read("a\tb\n\nno tab\n\tv\nk\\q\tv\nk\tv\\\nc\td\n");
  EXPECT_THAT(result.records, ElementsAre(Record{"a", "b", {}}, Record{"c", "d", {}}));
  EXPECT_THAT(result.errors, ElementsAre("line 2: expected a TAB between key and value, found none",
                                         "line 3: expected a TAB between key and value, found none",
                                         "line 4: the key has 0 bytes, expected 1 to 65535",
                                         HasSubstr("line 5: key: expected one of \\t"),
                                         HasSubstr("line 6: value: expected one of \\t")));
}

TEST(KeyValueLines, HexAndBase64AreStrict) {
  EXPECT_THAT(Read("6b\t7G\n", Encoding::kHex).errors,
              ElementsAre("line 1: value: expected a hexadecimal digit, found 'G' at byte 2"));
  EXPECT_THAT(Read("6b\t76\r\n", Encoding::kHex).errors,
              ElementsAre("line 1: value: expected a hexadecimal digit, found '\\r' at byte 3"));
  EXPECT_THAT(Read("Zg==\tZh==\n", Encoding::kBase64).errors, ElementsAre(HasSubstr("not zero")));
}

TEST(KeyValueLines, Limits) {
  const RecordLimits limits{.max_key = 2, .max_value = 3};
  EXPECT_THAT(Read("\\x01\\x02\t\\x01\\x02\\x03\n", Encoding::kText, limits).errors, IsEmpty());
  EXPECT_THAT(
      Read("abc\tx\nab\tabcd\nab\tabcdefghijklmnopqrst\na\tb\n", Encoding::kText, limits).errors,
      ElementsAre("line 1: the key has 3 bytes, expected 1 to 2",
                  "line 2: the value has 4 bytes, expected 0 to 3",
                  "line 3 is longer than the limit of 21 bytes"));
}

}  // namespace
}  // namespace dunlin::kvctl
