#include "client/kvctl/formats/byte_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/kvctl/formats/utf8.h"
#include "common/base/random.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

std::string RandomBytes(Random& random, size_t length) {
  std::string bytes(length, '\0');
  for (char& c : bytes) {
    // Half of them from what the codecs treat specially.
    static constexpr char kSpecial[] = "\t\n\r\0\\x\"=/+ \x7f\xc2\x80\xff";
    c = random.OneIn(2) ? kSpecial[random.Below(sizeof(kSpecial) - 1)]
                        : static_cast<char>(random.Below(256));
  }
  return bytes;
}

std::string ErrorOf(const absl::StatusOr<std::string>& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(FromAbsl(result.status().message()));
}

TEST(ByteCodec, EveryEncodingIsReversible) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string bytes = RandomBytes(random, random.Below(40));
    for (const Encoding encoding : {Encoding::kText, Encoding::kHex, Encoding::kBase64}) {
      const std::string text = EncodeBytes(encoding, bytes);
      EXPECT_EQ(text.find_first_of(std::string_view("\t\n\r\0", 4)), std::string::npos);
      const absl::StatusOr<std::string> decoded = DecodeBytes(encoding, text);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_EQ(*decoded, bytes);
    }
    const std::string printable = EncodePrintable(bytes);
    EXPECT_EQ(FindInvalidUtf8(printable), std::string::npos);
    const absl::StatusOr<std::string> decoded = DecodeEscapes(printable);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(ByteCodec, HexVectors) {
  EXPECT_EQ(EncodeHex("foobar"), "666f6f626172");
  EXPECT_EQ(*DecodeHex("666F6f626172"), "foobar");
  EXPECT_EQ(*DecodeHex(""), "");
  EXPECT_THAT(ErrorOf(DecodeHex("abc")), HasSubstr("even number of hexadecimal digits, found 3"));
  EXPECT_THAT(ErrorOf(DecodeHex("0g")), HasSubstr("found 'g' at byte 2"));
  EXPECT_THAT(ErrorOf(DecodeHex("0x")), HasSubstr("found 'x' at byte 2"));
}

TEST(ByteCodec, Base64VectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    ASSERT_TRUE(DecodeBase64(text).ok()) << text;
    EXPECT_EQ(*DecodeBase64(text), bytes);
  }
}

TEST(ByteCodec, Base64AcceptsOneFormOnly) {
  EXPECT_THAT(ErrorOf(DecodeBase64("Zg")), HasSubstr("groups of four"));
  EXPECT_THAT(ErrorOf(DecodeBase64("Zg=")), HasSubstr("groups of four"));
  EXPECT_THAT(ErrorOf(DecodeBase64("Zh==")), HasSubstr("not zero"));
  EXPECT_THAT(ErrorOf(DecodeBase64("Zm9=")), HasSubstr("not zero"));
  EXPECT_THAT(ErrorOf(DecodeBase64("Z===")), HasSubstr("found '=' at byte 2"));
  EXPECT_THAT(ErrorOf(DecodeBase64("====")), HasSubstr("found '=' at byte 1"));
  EXPECT_THAT(ErrorOf(DecodeBase64("Zg==Zg==")), HasSubstr("found '=' at byte 3"));
  EXPECT_THAT(ErrorOf(DecodeBase64("Zm9-")), HasSubstr("found '-' at byte 4"));
  EXPECT_THAT(ErrorOf(DecodeBase64("Zm 9")), HasSubstr("found ' ' at byte 3"));
}

TEST(ByteCodec, Escapes) {
  EXPECT_EQ(EncodeEscapes(std::string_view("a\tb\nc\rd\0e\\f\x01\xff", 13)),
            "a\\tb\\nc\\rd\\0e\\\\f\x01\xff");
  EXPECT_EQ(*DecodeEscapes("\\x41\\xfF"), "A\xff");
  EXPECT_THAT(ErrorOf(DecodeEscapes("ab\\q")), HasSubstr("found '\\\\q' at byte 3"));
  EXPECT_FALSE(DecodeEscapes("\\").ok());
  EXPECT_FALSE(DecodeEscapes("\\x").ok());
  EXPECT_FALSE(DecodeEscapes("\\x4").ok());
  EXPECT_FALSE(DecodeEscapes("\\x4g").ok());
}

TEST(ByteCodec, PrintableKeepsTextAndHidesControls) {
  EXPECT_EQ(EncodePrintable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac"), "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
  EXPECT_EQ(EncodePrintable("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(EncodePrintable("\xc2\x9b"), "\\xc2\\x9b");  // C1: CSI to some terminals
  EXPECT_EQ(EncodePrintable("\xc3("), "\\xc3(");
}

}  // namespace
}  // namespace dunlin::kvctl
