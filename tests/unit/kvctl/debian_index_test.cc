#include "client/kvctl/formats/debian_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/kvctl/record_stream_testing.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Stanza(std::string_view name, std::string_view rest = "") {
  std::string text = "Package: ";
  text += name;
  text += "\nVersion: 1:2.0-3+b1\nInstalled-Size: 7\nArchitecture: amd64\n";
  text += "Description: a: b\n  long text\n .\n\tmore\n";
  text += rest;
  return text;
}

ReadResult Read(std::string_view bytes, const RecordLimits& limits = {}, size_t chunk = 13) {
  return ReadAll(Format::kDebianIndex, Encoding::kText, bytes, chunk, limits);
}

TEST(DebianIndex, OneRecordAStanza) {
  const ReadResult result = Read(Stanza("a") + "\n" + Stanza("b") + "\n");
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(result.records, ElementsAre(Record{"a/amd64/1:2.0-3+b1", Stanza("a"), {}},
                                          Record{"b/amd64/1:2.0-3+b1", Stanza("b"), {}}));
  EXPECT_THAT(result.lines, ElementsAre(1, 10));
}

TEST(DebianIndex, FieldNamesWithoutCaseAndValuesWithoutSurroundingSpace) {
  const std::string text = "package:a\nVERSION: \t1 \narchitecture:  all\n";
  EXPECT_THAT(Read(text).records, ElementsAre(Record{"a/all/1", text, {}}));
}

TEST(DebianIndex, MissingOrMoreEmptyLines) {
  const ReadResult result = Read("\n\n" + Stanza("a") + "\n\n\n" + Stanza("b"));
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_EQ(result.records.size(), 2u);
  EXPECT_THAT(result.lines, ElementsAre(3, 14));
  EXPECT_THAT(Read("").records, IsEmpty());
  EXPECT_THAT(Read("\n\n").records, IsEmpty());
}

TEST(DebianIndex, DuplicatesAreNumberedAndCounted) {
  const std::string text = Stanza("a") + "\n" + Stanza("b") + "\n" + Stanza("a", "Size: 1\n") +
                           "\n" + Stanza("a") + "\n";
  StringSource source(text);
  DebianIndexReader reader({}, source);
  const ReadResult result = ReadAll(reader);
  ASSERT_EQ(result.records.size(), 4u);
  EXPECT_EQ(result.records[0].key, "a/amd64/1:2.0-3+b1");
  EXPECT_EQ(result.records[2].key, "a/amd64/1:2.0-3+b1#2");
  EXPECT_EQ(result.records[2].value, Stanza("a", "Size: 1\n"));
  EXPECT_EQ(result.records[3].key, "a/amd64/1:2.0-3+b1#3");
  EXPECT_EQ(reader.renamed_duplicates(), 2u);

  StringSink sink;
  DebianIndexWriter writer(sink);
  for (const Record& record : result.records) ASSERT_TRUE(writer.Write(record).ok());
  EXPECT_EQ(sink.bytes(), text);
}

TEST(DebianIndex, ErrorsNameTheStanzaAndReadingGoesOn) {
  const std::pair<std::string, const char*> cases[] = {
      {"Package: a\nVersion: 1\n", "stanza from line 1: the stanza has no field Architecture"},
      {"Package: a\nPackage: a\n", "the field Package is given twice"},
      {"Package: a b\n", "the field Package is \"a b\", expected printable ASCII"},
      {"Package: a/b\n", "the field Package is \"a/b\""},
      {"Version:\nPackage: a\n", "the field Version is \"\""},
      {"Version: 1#2\nPackage: a\n", "the field Version is \"1#2\""},
      {" continued\nPackage: a\n", "begins with a continuation line"},
      {"Package\n", "expected \"Field: value\", found \"Package\""},
      {": x\n", "expected \"Field: value\", found \": x\""},
  };
  for (const auto& [stanza, message] : cases) {
    const ReadResult result = Read(stanza + "\n" + Stanza("z") + "\n");
    EXPECT_THAT(result.errors, ElementsAre(HasSubstr(message))) << stanza;
    ASSERT_EQ(result.records.size(), 1u) << stanza;
    EXPECT_EQ(result.records[0].value, Stanza("z"));
  }
}

TEST(DebianIndex, AStanzaCutOffInsideALineIsRefused) {
  const std::string text = Stanza("a") + "\n" + Stanza("b");
  const ReadResult result = Read(text.substr(0, text.size() - 1));
  EXPECT_EQ(result.records.size(), 1u);
  EXPECT_THAT(result.errors,
              ElementsAre(HasSubstr("stanza from line 10: the input ends inside a line")));
}

TEST(DebianIndex, StanzasOverTheLimitAreSkippedWhole) {
  const std::string small = "Package: b\nVersion: 1\nArchitecture: all\n";
  const RecordLimits limits{.max_key = 100, .max_value = small.size()};
  const std::string one_more = "Package: bb\nVersion: 1\nArchitecture: all\n";
  const std::string long_line = "Package: c\nX: " + std::string(500, 'x') + "\nVersion: 1\n";
  const ReadResult result = Read(one_more + "\n" + small + "\n" + long_line + "\n" + small, limits);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].value, small);
  EXPECT_EQ(result.records[1].key, "b/all/1#2");
  EXPECT_THAT(result.errors,
              ElementsAre(HasSubstr("stanza from line 1: the stanza is longer than"),
                          HasSubstr("line 10 is longer than the limit of 40 bytes")));
}

TEST(DebianIndex, WriterRefusesWhatWouldNotReadBack) {
  StringSink sink;
  DebianIndexWriter writer(sink);
  const std::string key = "a/amd64/1:2.0-3+b1";
  const Record bad[] = {
      {"k", "v", {}},
      {key, "", {}},
      {key, Stanza("b"), {}},
      {key + "x", Stanza("a"), {}},
      {key + "#1", Stanza("a"), {}},
      {key + "#02", Stanza("a"), {}},
      {key + "#", Stanza("a"), {}},
      {key, Stanza("a") + "\n", {}},
      {key, Stanza("a") + "\n" + Stanza("b"), {}},
      {key, Stanza("a").substr(0, Stanza("a").size() - 1), {}},
  };
  for (const Record& record : bad) {
    EXPECT_EQ(writer.Write(record).code(), absl::StatusCode::kInvalidArgument) << record.key;
  }
  EXPECT_EQ(sink.bytes(), "");
  EXPECT_TRUE(writer.Write({key, Stanza("a"), {}}).ok());
  EXPECT_TRUE(writer.Write({key + "#12", Stanza("a"), {}}).ok());
}

}  // namespace
}  // namespace dunlin::kvctl
