#include "client/kvctl/formats/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "!" stands for a line that was refused.
std::vector<std::string> ReadAll(std::string_view bytes, size_t max_line, size_t chunk) {
  StringSource source(bytes, chunk);
  LineReader reader(source, max_line);
  std::vector<std::string> lines;
  while (true) {
    std::string_view line;
    const absl::StatusOr<bool> more = reader.Next(&line);
    if (!more.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(more.status()));
      lines.push_back("!");
    } else if (*more) {
      lines.emplace_back(line);
    } else {
      return lines;
    }
    EXPECT_EQ(reader.line_number(), lines.size());
  }
}

TEST(LineReader, SplitsAtNewlinesOnly) {
  for (const size_t chunk : {1, 2, 3, 1000}) {
    EXPECT_THAT(ReadAll("a\n\nb\r\n\tc", 10, chunk), ElementsAre("a", "", "b\r", "\tc"));
    EXPECT_THAT(ReadAll("", 10, chunk), ElementsAre());
    EXPECT_THAT(ReadAll("\n", 10, chunk), ElementsAre(""));
    EXPECT_THAT(ReadAll(std::string_view("a\0b\n", 4), 10, chunk),
                ElementsAre(std::string("a\0b", 3)));
  }
}

TEST(LineReader, RefusesLongLinesAndGoesOn) {
  for (const size_t chunk : {1, 2, 3, 1000}) {
    EXPECT_THAT(ReadAll("12345\n123456\nabc\n", 5, chunk), ElementsAre("12345", "!", "abc"));
    EXPECT_THAT(ReadAll("12345678901234\nabc", 5, chunk), ElementsAre("!", "abc"));
    EXPECT_THAT(ReadAll("12345678901234", 5, chunk), ElementsAre("!"));
  }
}

TEST(LineReader, SaysWhetherTheLastLineWasTerminated) {
  StringSource source("a\nb");
  LineReader reader(source, 10);
  std::string_view line;
  ASSERT_TRUE(*reader.Next(&line));
  EXPECT_TRUE(reader.terminated());
  ASSERT_TRUE(*reader.Next(&line));
  EXPECT_FALSE(reader.terminated());
  EXPECT_FALSE(*reader.Next(&line));
  EXPECT_FALSE(*reader.Next(&line));
}

TEST(LineReader, LinesLongerThanAPiece) {
  const std::string line_a(300'000, 'a');
  const std::string line_b(200'000, 'b');
  EXPECT_THAT(ReadAll(line_a + "\n" + line_b + "\nc", 300'000, 70'001),
              ElementsAre(line_a, line_b, "c"));
  EXPECT_THAT(ReadAll(line_a + "\n" + line_b + "\nc", 200'000, 70'001),
              ElementsAre("!", line_b, "c"));
}

class BrokenSource final : public ByteSource {
 public:
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    if (++calls_ > 1) return absl::InternalError("cannot read x: Input/output error");
    buffer[0] = 'a';
    return 1;
  }

 private:
  int calls_ = 0;
};

TEST(LineReader, PassesOnAnErrorOfTheSource) {
  BrokenSource source;
  LineReader reader(source, 10);
  std::string_view line;
  const absl::StatusOr<bool> more = reader.Next(&line);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(FromAbsl(more.status().message())), HasSubstr("Input/output"));
}

// Gives one endless line and counts what it gave.
class EndlessSource final : public ByteSource {
 public:
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    largest_ = std::max(largest_, buffer.size());
    total_ += buffer.size();
    if (total_ > (64u << 20)) return size_t{0};
    std::fill(buffer.begin(), buffer.end(), 'x');
    return buffer.size();
  }
  size_t largest() const { return largest_; }

 private:
  size_t largest_ = 0;
  size_t total_ = 0;
};

TEST(LineReader, AnEndlessLineDoesNotFillMemory) {
  EndlessSource source;
  LineReader reader(source, 100'000);
  std::string_view line;
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Next(&line).status()));
  EXPECT_LT(source.largest(), 1u << 20);
}

}  // namespace
}  // namespace dunlin::kvctl
