#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "bench/kvbench/properties.h"

namespace dunlin::kvbench {
namespace {

Properties Parsed(std::string_view text) {
  Properties properties;
  EXPECT_TRUE(properties.AddText(text, "test").ok()) << text;
  return properties;
}

TEST(Properties, TakesAllOfJavasSeparators) {
  const Properties p = Parsed("a=1\nb:2\nc 3\nd\t=\t4\n  e   :  5\nf\ng=\nh==x\n");
  EXPECT_EQ(p.Get("a", "?"), "1");
  EXPECT_EQ(p.Get("b", "?"), "2");
  EXPECT_EQ(p.Get("c", "?"), "3");
  EXPECT_EQ(p.Get("d", "?"), "4");
  EXPECT_EQ(p.Get("e", "?"), "5");
  EXPECT_EQ(p.Get("f", "?"), "");
  EXPECT_EQ(p.Get("g", "?"), "");
  EXPECT_EQ(p.Get("h", "?"), "=x");
  EXPECT_FALSE(p.Has("i"));
}

TEST(Properties, SkipsCommentsAndBlankLines) {
  const Properties p = Parsed("# a=1\n  ! b=2\n\n \t\f\r\nc=3 # not a comment\r\nd=4\re=5");
  EXPECT_EQ(p.all().size(), 3u);
  EXPECT_EQ(p.Get("c", "?"), "3 # not a comment");
  EXPECT_EQ(p.Get("d", "?"), "4");
  EXPECT_EQ(p.Get("e", "?"), "5");
}

TEST(Properties, KeepsTrailingBlanksOfAValueAndDropsLeadingOnes) {
  EXPECT_EQ(Parsed("a =   x  \n").Get("a", "?"), "x  ");
}

TEST(Properties, JoinsLinesAtABackslash) {
  const Properties p = Parsed("a=1,\\\n    2,\\\r\n\t3\nb=x\\\\\nc=4\n\\\n# d=5\nlast=6\\");
  EXPECT_EQ(p.Get("a", "?"), "1,2,3");
  EXPECT_EQ(p.Get("b", "?"), "x\\");
  EXPECT_EQ(p.Get("c", "?"), "4");
  EXPECT_EQ(p.Get("last", "?"), "6");
}

TEST(Properties, UnderstandsEscapes) {
  const Properties p =
      Parsed("a\\ b=1\na\\:c\\==2\nt=\\t\\n\\r\\f|\\q\nu=\\u0041\\u00e4\\u20ac\\ud83d\\ude00\n");
  EXPECT_EQ(p.Get("a b", "?"), "1");
  EXPECT_EQ(p.Get("a:c=", "?"), "2");
  EXPECT_EQ(p.Get("t", "?"), "\t\n\r\f|q");
  EXPECT_EQ(p.Get("u", "?"), "A\u00e4\u20ac\U0001f600");
}

TEST(Properties, RefusesMalformedEscapesAndSaysWhere) {
  Properties properties;
  for (const char* text : {"a=\\u12", "a=\\u12g4", "\\uxyzw=1"}) {
    const absl::Status status = properties.AddText(text, "some.file");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find("some.file"), std::string::npos);
  }
}

TEST(Properties, TheLastSettingCounts) {
  Properties p = Parsed("a=1\na=2\n");
  EXPECT_EQ(p.Get("a", "?"), "2");
  ASSERT_TRUE(p.AddText("a=3", "later").ok());
  EXPECT_EQ(p.Get("a", "?"), "3");
  p.Set("a", "4");
  EXPECT_EQ(p.Get("a", "?"), "4");
}

TEST(Properties, ReadsTypesAndNamesWhatIsWrong) {
  const Properties p =
      Parsed("n=-12 \nbig=9223372036854775807\nx=1e3\nt=TRUE\nf=false\nbad=1x\nempty=\n");
  EXPECT_EQ(*p.GetInt("n", 0), -12);
  EXPECT_EQ(*p.GetInt("big", 0), 9223372036854775807);
  EXPECT_EQ(*p.GetInt("none", 7), 7);
  EXPECT_EQ(*p.GetDouble("x", 0), 1000);
  EXPECT_TRUE(*p.GetBool("t", false));
  EXPECT_FALSE(*p.GetBool("f", true));
  EXPECT_FALSE(p.GetInt("bad", 0).ok());
  EXPECT_FALSE(p.GetInt("empty", 0).ok());
  EXPECT_FALSE(p.GetDouble("bad", 0).ok());
  const absl::Status status = p.GetBool("bad", true).status();
  EXPECT_NE(std::string(status.message()).find("bad"), std::string::npos);
  EXPECT_NE(std::string(status.message()).find("1x"), std::string::npos);
}

TEST(Properties, AFileThatIsNotThereIsNamed) {
  Properties properties;
  const absl::Status status = properties.AddFile("/nonexistent/workload");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("/nonexistent/workload"), std::string::npos);
}

}  // namespace
}  // namespace dunlin::kvbench
