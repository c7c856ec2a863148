#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "bench/kvbench/command_line.h"
#include "tests/support/temporary_folder.h"

namespace dunlin::kvbench {
namespace {

using Verb = CommandLine::Verb;

absl::StatusOr<CommandLine> Parse(std::vector<const char*> arguments) {
  return ParseCommandLine(arguments);
}

std::string Refusal(std::vector<const char*> arguments) {
  const absl::StatusOr<CommandLine> line = Parse(std::move(arguments));
  EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(line.status().message());
}

class Files : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  const dunlin::testing::TemporaryFolder folder_;
};

TEST_F(Files, OursAndYcsbsForm) {
  const std::string file = Write("workloada", "recordcount=5\nx=file\n");
  const auto ours = Parse({"load", "dunlin", "-P", file.c_str(), "-threads", "4", "-s"});
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(ours->verb, Verb::kLoad);
  EXPECT_EQ(ours->binding, "dunlin");
  EXPECT_EQ(ours->properties.Get("recordcount", ""), "5");
  EXPECT_EQ(ours->properties.Get("threadcount", ""), "4");
  EXPECT_EQ(ours->properties.Get("status", ""), "true");
  EXPECT_EQ(ours->workload_file, file);

  const auto theirs =
      Parse({"-db", "redis", "-P", file.c_str(), "-load", "-target", "100", "-l", "x"});
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  EXPECT_EQ(theirs->verb, Verb::kLoad);
  EXPECT_EQ(theirs->binding, "redis");
  EXPECT_EQ(theirs->properties.Get("target", ""), "100");
  EXPECT_EQ(theirs->properties.Get("label", ""), "x");
  EXPECT_EQ(Parse({"-db", "redis", "-t"})->verb, Verb::kRun);
  EXPECT_EQ(Parse({"-db", "redis"})->verb, Verb::kRun);
}

TEST_F(Files, TheCommandLineWinsOverFilesWhereverItStands) {
  const std::string first = Write("first", "a=1\nb=1\nc=1\n");
  const std::string second = Write("second", "b=2\nc=2\n");
  const auto line =
      Parse({"run", "null", "-p", "c=3", "-P", first.c_str(), "-P", second.c_str(), "-p", "d=x=y"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->properties.Get("a", ""), "1");
  EXPECT_EQ(line->properties.Get("b", ""), "2");
  EXPECT_EQ(line->properties.Get("c", ""), "3");
  EXPECT_EQ(line->properties.Get("d", ""), "x=y");
  EXPECT_EQ(line->workload_file, second);
}

TEST_F(Files, AMissingFileIsNamed) {
  const auto line = Parse({"run", "null", "-P", "/nonexistent/workload"});
  EXPECT_NE(std::string(line.status().message()).find("/nonexistent/workload"), std::string::npos);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(Refusal({"run", "null", "-thread", "4"}).find("-thread"), std::string::npos);
  EXPECT_NE(Refusal({"run", "null", "other"}).find("other"), std::string::npos);
  EXPECT_NE(Refusal({"run"}).find("which store"), std::string::npos);
  EXPECT_NE(Refusal({"run", "null", "-p", "novalue"}).find("novalue"), std::string::npos);
  EXPECT_NE(Refusal({"run", "null", "-threads"}).find("missing"), std::string::npos);
  EXPECT_NE(Refusal({"run", "null", "-p", "kvbench.bach=3"}).find("kvbench.batch"),
            std::string::npos);
  EXPECT_NE(Refusal({"report", "-o", "x.html"}).find("files"), std::string::npos);
  EXPECT_NE(Refusal({"report", "x.json"}).find("-o"), std::string::npos);
  EXPECT_NE(Refusal({"report", "x.json", "-s"}).find("-s"), std::string::npos);
}

TEST(CommandLine, GoalsOfASearch) {
  for (const char* option : {"-p99.9", "--p99.9"}) {
    const auto line = Parse({"slo", "dunlin", option, "10us", "-seconds", "1.5", "-confirm", "20",
                             "-precision", "0.02", "-threads", "2"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_DOUBLE_EQ(line->slo.percentile, 99.9);
    EXPECT_EQ(line->slo.limit_nanos, 10'000);
    EXPECT_DOUBLE_EQ(line->slo.step_seconds, 1.5);
    EXPECT_DOUBLE_EQ(line->slo.confirm_seconds, 20);
    EXPECT_DOUBLE_EQ(line->slo.precision, 0.02);
    EXPECT_EQ(line->properties.Get("threadcount", ""), "2");
  }
  EXPECT_NE(Refusal({"slo", "dunlin"}).find("-p99"), std::string::npos);
  EXPECT_NE(Refusal({"slo", "dunlin", "-p99", "fast"}).find("-p99"), std::string::npos);
  EXPECT_NE(Refusal({"slo", "dunlin", "-p101", "1us"}).find("percentile"), std::string::npos);
  EXPECT_NE(Refusal({"slo", "dunlin", "-p99", "1us", "-seconds", "0"}).find("-seconds"),
            std::string::npos);
}

TEST(CommandLine, Reports) {
  const auto line = Parse({"report", "a.json", "b.json", "-o", "page.html", "--title", "A title",
                           "--baseline", "redis"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->files, (std::vector<std::string>{"a.json", "b.json"}));
  EXPECT_EQ(line->output, "page.html");
  EXPECT_EQ(line->title, "A title");
  EXPECT_EQ(line->baseline, "redis");
}

TEST(CommandLine, HelpAndVersion) {
  EXPECT_EQ(Parse({})->verb, Verb::kHelp);
  EXPECT_EQ(Parse({"--help"})->verb, Verb::kHelp);
  EXPECT_EQ(Parse({"help"})->verb, Verb::kHelp);
  EXPECT_EQ(Parse({"--version"})->verb, Verb::kVersion);
  EXPECT_EQ(Parse({"bindings"})->verb, Verb::kBindings);
}

}  // namespace
}  // namespace dunlin::kvbench
