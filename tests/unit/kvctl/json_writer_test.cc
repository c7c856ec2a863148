#include "client/kvctl/formats/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace dunlin::kvctl {
namespace {

TEST(JsonWriter, NestedValues) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject();
  json.Name("a").Value(1);
  json.Name("b").BeginArray();
  json.Value("x");
  json.Value(true);
  json.Null();
  json.BeginObject();
  json.EndObject();
  json.EndArray();
  json.Name("c").BeginObject();
  json.Name("d").Value(std::numeric_limits<int64_t>::min());
  json.Name("e").Value(std::numeric_limits<uint64_t>::max());
  json.EndObject();
  json.Name("f").Value(0.5);
  json.Name("g").Value(std::numeric_limits<double>::infinity());
  json.EndObject();
  EXPECT_EQ(text, R"({"a":1,"b":["x",true,null,{}],"c":{"d":-9223372036854775808,)"
                  R"("e":18446744073709551615},"f":0.5,"g":null})");
}

TEST(JsonWriter, EscapesStrings) {
  std::string text;
  JsonWriter json(&text);
  json.Value(std::string_view("\"\\\n\x01\0\xc3\xbc", 7));
  EXPECT_EQ(text, "\"\\\"\\\\\\n\\u0001\\u0000\xc3\xbc\"");
}

TEST(JsonWriter, BytesMemberChoosesAnEncoding) {
  const auto member = [](std::string_view bytes, Encoding encoding) {
    std::string text;
    JsonWriter json(&text);
    json.BeginObject();
    json.BytesMember("key", bytes, encoding);
    json.EndObject();
    return text;
  };
  EXPECT_EQ(member("ab", Encoding::kText), R"({"key":"ab"})");
  EXPECT_EQ(member("\xff", Encoding::kText), R"({"key_base64":"/w=="})");
  EXPECT_EQ(member("ab", Encoding::kHex), R"({"key_hex":"6162"})");
  EXPECT_EQ(member("ab", Encoding::kBase64), R"({"key_base64":"YWI="})");
}

}  // namespace
}  // namespace dunlin::kvctl
