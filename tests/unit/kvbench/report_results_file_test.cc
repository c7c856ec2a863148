#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/kvbench/report/results_file.h"
#include "common/base/status.h"
#include "tests/unit/kvbench/report_synthetic.h"

namespace dunlin::kvbench {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& json) {
  const auto parsed = ParseResults(json, "some.json");
  return parsed.ok() ? "" : std::string(FromAbsl(parsed.status().message()));
}

TEST(ResultsFileTest, ReadsWhatWasWritten) {
  const Results results = Synthesize({.target = 1000});
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(results, &json).ok());
  const auto parsed = ParseResults(json, "some.json");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*parsed, results));
}

TEST(ResultsFileTest, SkipsWhatALaterReleaseAdded) {
  const auto parsed = ParseResults(R"({"format": 1, "label": "a", "later": {"x": [1]}})", "f");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->label(), "a");
}

TEST(ResultsFileTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("some.json: expected the JSON"));
  EXPECT_THAT(ErrorOf(R"({"format": 1, "threads": "many"})"), HasSubstr("some.json: expected"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("not a result of kvbench"));
  EXPECT_THAT(ErrorOf(R"({"format": 2})"), HasSubstr("of format 2, this release reads 1"));
}

TEST(ResultsFileTest, NamesTheFileThatIsMissing) {
  const auto read = ReadResults("/nonexistent/results.json");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(FromAbsl(read.status().message()), HasSubstr("/nonexistent/results.json"));
}

}  // namespace
}  // namespace dunlin::kvbench
