#include "client/kvctl/formats/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace dunlin::kvctl {
namespace {

TEST(Utf8, EveryCodePointIsOneSequence) {
  for (uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(code_point, &text);
    ASSERT_EQ(Utf8SequenceLength(text), text.size()) << code_point;
    ASSERT_EQ(text.size(), code_point < 0x80      ? 1u
                           : code_point < 0x800   ? 2u
                           : code_point < 0x10000 ? 3u
                                                  : 4u);
  }
}

// All strings of one to three bytes against a decoder written the other way round.
TEST(Utf8, ShortSequencesAreJudgedByTheirMeaning) {
  for (uint32_t bits = 0; bits < (1u << 24); bits += 1) {
    const std::string text = {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8),
                              static_cast<char>(bits)};
    const uint32_t lead = bits >> 16;
    const uint32_t second = bits >> 8 & 0xFF;
    const uint32_t third = bits & 0xFF;
    size_t expected = 0;
    if (lead < 0x80) {
      expected = 1;
    } else if ((lead & 0xE0) == 0xC0 && (second & 0xC0) == 0x80) {
      expected = ((lead & 0x1F) << 6 | (second & 0x3F)) >= 0x80 ? 2 : 0;
    } else if ((lead & 0xF0) == 0xE0 && (second & 0xC0) == 0x80 && (third & 0xC0) == 0x80) {
      const uint32_t value = (lead & 0xF) << 12 | (second & 0x3F) << 6 | (third & 0x3F);
      expected = value >= 0x800 && (value < 0xD800 || value > 0xDFFF) ? 3 : 0;
    }
    ASSERT_EQ(Utf8SequenceLength(text), expected) << std::hex << bits;
  }
}

TEST(Utf8, FourByteLimits) {
  EXPECT_EQ(Utf8SequenceLength("\xf0\x90\x80\x80"), 4u);
  EXPECT_EQ(Utf8SequenceLength("\xf0\x8f\xbf\xbf"), 0u);  // overlong
  EXPECT_EQ(Utf8SequenceLength("\xf4\x8f\xbf\xbf"), 4u);
  EXPECT_EQ(Utf8SequenceLength("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(Utf8SequenceLength("\xf5\x80\x80\x80"), 0u);
  EXPECT_EQ(Utf8SequenceLength("\xf0\x90\x80"), 0u);  // cut off
  EXPECT_EQ(Utf8SequenceLength(""), 0u);
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(FindInvalidUtf8(""), std::string::npos);
  EXPECT_EQ(FindInvalidUtf8("a\xc3\xbc"
                            "b"),
            std::string::npos);
  EXPECT_EQ(FindInvalidUtf8("a\xc3\xbc\x80"), 3u);
  EXPECT_EQ(FindInvalidUtf8("ab\xc3"), 2u);
}

}  // namespace
}  // namespace dunlin::kvctl
