#include "common/base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace dunlin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Values {
  std::string socket = "/run/dunlin/socket";
  bool prefault = false;
  int64_t node = -1;
  uint64_t memory = uint64_t{1} << 30;
  int64_t lease = 1'000'000'000;
  size_t fabric = 0;
};

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    set_.AddString("socket", &values_.socket, "where clients connect");
    set_.AddBool("prefault", &values_.prefault, "touch all memory at the start");
    set_.AddInt("numa-node", &values_.node, "node to take memory from", {.min = -1, .max = 63});
    set_.AddSize("memory", &values_.memory, "memory to serve from", {.min = uint64_t{1} << 20});
    set_.AddDuration("lease", &values_.lease, "how long a silent client lives",
                     {.max = 60'000'000'000});
    set_.AddEnum("fabric", &values_.fabric, {"shm", "verbs"}, "how clients reach the memory");
  }

  ~OptionsTest() override {
    if (!path_.empty()) std::filesystem::remove(path_);
  }

  const std::string& WriteFile(std::string_view text) {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = testing::TempDir() + "dunlin_options_" + test + ".conf";
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }

  absl::StatusOr<OptionSet::Action> Read(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& environment = {}) {
    const auto pointers = [](const std::vector<std::string>& strings) {
      std::vector<const char*> result;
      for (const std::string& string : strings) result.push_back(string.c_str());
      return result;
    };
    return set_.Read(pointers(arguments), pointers(environment));
  }

  std::string ErrorOf(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment = {}) {
    const auto action = Read(arguments, environment);
    EXPECT_FALSE(action.ok());
    return std::string(action.status().message());
  }

  Values values_;
  OptionSet set_{"dunlin-server", "Serves a region of memory."};
  std::string path_;
};

TEST_F(OptionsTest, DefaultsAreWhatTheTargetsHeld) {
  EXPECT_EQ(*Read({}, {"PATH=/bin"}), OptionSet::Action::kRun);
  EXPECT_EQ(values_.memory, uint64_t{1} << 30);
  EXPECT_EQ(set_.OriginOf("memory"), "default");
}

TEST_F(OptionsTest, FlagsInBothSpellings) {
  ASSERT_EQ(*Read({"--memory", "8GiB", "--socket=/tmp/a=b", "--prefault", "--numa-node=-1",
                   "--lease", "100ms", "--fabric", "verbs"}),
            OptionSet::Action::kRun);
  EXPECT_EQ(values_.memory, uint64_t{8} << 30);
  EXPECT_EQ(values_.socket, "/tmp/a=b");
  EXPECT_TRUE(values_.prefault);
  EXPECT_EQ(values_.node, -1);
  EXPECT_EQ(values_.lease, 100'000'000);
  EXPECT_EQ(values_.fabric, 1u);
  EXPECT_EQ(set_.OriginOf("memory"), "flag --memory");
}

TEST_F(OptionsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string file = WriteFile("memory = 2MiB\nlease = 2s\nnuma-node = 2 # why not\n");
  ASSERT_TRUE(
      Read({"--config", file, "--memory", "4MiB"}, {"DUNLIN_MEMORY=3MiB", "DUNLIN_NUMA_NODE=3"})
          .ok());
  EXPECT_EQ(values_.memory, uint64_t{4} << 20);
  EXPECT_EQ(values_.node, 3);
  EXPECT_EQ(values_.lease, 2'000'000'000);
  EXPECT_EQ(values_.socket, "/run/dunlin/socket");
  EXPECT_EQ(set_.OriginOf("memory"), "flag --memory");
  EXPECT_EQ(set_.OriginOf("numa-node"), "environment DUNLIN_NUMA_NODE");
  EXPECT_EQ(set_.OriginOf("lease"), "file " + file + ":2");
  EXPECT_EQ(set_.OriginOf("socket"), "default");
}

TEST_F(OptionsTest, TheFlagNamesTheFileBeforeTheEnvironmentDoes) {
  const std::string file = WriteFile("memory = 2MiB\n");
  ASSERT_TRUE(Read({"--config=" + file}, {"DUNLIN_CONFIG=/no/such/file"}).ok());
  EXPECT_EQ(values_.memory, uint64_t{2} << 20);
}

TEST_F(OptionsTest, TheEnvironmentCanNameTheFile) {
  const std::string file = WriteFile("memory = 2MiB\n");
  ASSERT_TRUE(Read({}, {"DUNLIN_CONFIG=" + file}).ok());
  EXPECT_EQ(values_.memory, uint64_t{2} << 20);
}

TEST_F(OptionsTest, UnknownNamesSuggestNearOnes) {
  EXPECT_THAT(ErrorOf({"--memroy", "1GiB"}), HasSubstr("did you mean --memory?"));
  EXPECT_THAT(ErrorOf({}, {"DUNLIN_MEMRY=1GiB"}),
              AllOf(HasSubstr("DUNLIN_MEMRY"), HasSubstr("did you mean DUNLIN_MEMORY?")));
  const std::string file = WriteFile("\nsockt = x\n");
  EXPECT_THAT(ErrorOf({"--config", file}),
              AllOf(HasSubstr(file + ":2: 'sockt'"), HasSubstr("did you mean socket?")));
  EXPECT_THAT(ErrorOf({"--zzzzzzzz"}), HasSubstr("--help lists"));
}

TEST_F(OptionsTest, UnderscoresAreNoSpellingOfAFlag) {
  EXPECT_THAT(ErrorOf({"--numa_node=1"}), HasSubstr("did you mean --numa-node?"));
}

TEST_F(OptionsTest, AVariableOfAnotherProgramCanBeIgnored) {
  set_.IgnoreEnvironment("DUNLIN_OUTPUT");
  EXPECT_TRUE(Read({}, {"DUNLIN_OUTPUT=json"}).ok());
}

TEST_F(OptionsTest, MalformedValuesNameTheirOrigin) {
  EXPECT_THAT(ErrorOf({"--memory=8GB"}),
              AllOf(HasSubstr("flag --memory: '8GB'"), HasSubstr("8GiB")));
  EXPECT_THAT(ErrorOf({}, {"DUNLIN_LEASE=5"}), HasSubstr("environment DUNLIN_LEASE: '5'"));
  EXPECT_THAT(ErrorOf({"--prefault=maybe"}), HasSubstr("expected true or false"));
  EXPECT_THAT(ErrorOf({"--numa-node=one"}), HasSubstr("not a whole number"));
  EXPECT_THAT(ErrorOf({"--numa-node=1x"}), HasSubstr("not a whole number"));
  EXPECT_THAT(ErrorOf({"--fabric=tcp"}), HasSubstr("expected shm or verbs"));
  EXPECT_THAT(ErrorOf({"--socket=a\nb"}), HasSubstr("control characters"));
  const std::string file = WriteFile("# c\nmemory = lots\n");
  EXPECT_THAT(ErrorOf({"--config", file}), HasSubstr("file " + file + ":2: 'lots'"));
}

TEST_F(OptionsTest, AValueThatIsBeatenIsCheckedAllTheSame) {
  EXPECT_THAT(ErrorOf({"--memory=1GiB"}, {"DUNLIN_MEMORY=lots"}), HasSubstr("DUNLIN_MEMORY"));
}

TEST_F(OptionsTest, RangesAreInclusive) {
  EXPECT_THAT(ErrorOf({"--numa-node=64"}), HasSubstr("expected -1 to 63"));
  EXPECT_THAT(ErrorOf({"--numa-node=-2"}), HasSubstr("expected -1 to 63"));
  EXPECT_THAT(ErrorOf({"--memory=1048575"}), HasSubstr("at least 1MiB"));
  EXPECT_THAT(ErrorOf({"--lease=61s"}), HasSubstr("at most 1m"));
  EXPECT_TRUE(Read({"--numa-node=63", "--memory=1MiB", "--lease=60s"}).ok());
}

TEST_F(OptionsTest, DuplicatesWithinOnePlaceAreErrors) {
  EXPECT_THAT(ErrorOf({"--memory=1GiB", "--memory=1GiB"}), HasSubstr("already set"));
  EXPECT_THAT(ErrorOf({"--config=a", "--config=b"}), HasSubstr("twice"));
  const std::string file = WriteFile("lease = 1s\nlease = 1s\n");
  EXPECT_THAT(ErrorOf({"--config", file}),
              AllOf(HasSubstr(file + ":2"), HasSubstr("already set by file " + file + ":1")));
}

TEST_F(OptionsTest, ArgumentsThatAreNoFlags) {
  EXPECT_THAT(ErrorOf({"serve"}), HasSubstr("unexpected argument 'serve'"));
  EXPECT_THAT(ErrorOf({"-m", "1GiB"}), HasSubstr("unexpected argument '-m'"));
  EXPECT_THAT(ErrorOf({"--prefault", "false"}), HasSubstr("unexpected argument 'false'"));
  EXPECT_THAT(ErrorOf({"--"}), HasSubstr("unexpected argument '--'"));
  EXPECT_THAT(ErrorOf({"--memory"}), HasSubstr("the value is missing"));
  EXPECT_THAT(ErrorOf({"--print-config=yes"}), HasSubstr("takes no value"));
}

TEST_F(OptionsTest, FilesThatCannotBeRead) {
  EXPECT_THAT(ErrorOf({"--config", "/no/such/file"}),
              AllOf(HasSubstr("flag --config"), HasSubstr("'/no/such/file'")));
  EXPECT_THAT(ErrorOf({"--config", "/"}), HasSubstr("'/'"));
  EXPECT_THAT(ErrorOf({"--config", "/dev/zero"}), HasSubstr("larger than the limit"));
}

TEST_F(OptionsTest, AFileCannotNameAFile) {
  const std::string file = WriteFile("config = other\n");
  EXPECT_THAT(ErrorOf({"--config", file}), HasSubstr("unknown option"));
}

TEST_F(OptionsTest, AnErrorChangesNoTarget) {
  EXPECT_FALSE(Read({"--memory=8GiB", "--lease=wrong"}).ok());
  EXPECT_EQ(values_.memory, uint64_t{1} << 30);
}

TEST_F(OptionsTest, HelpAndVersionComeWhateverElseIsWrong) {
  EXPECT_EQ(*Read({"--nonsense", "--help"}, {"DUNLIN_NONSENSE=1"}), OptionSet::Action::kHelp);
  EXPECT_EQ(*Read({"-h"}), OptionSet::Action::kHelp);
  EXPECT_EQ(*Read({"--version", "--memory"}), OptionSet::Action::kVersion);
  EXPECT_THAT(set_.Help(),
              AllOf(HasSubstr("Usage: dunlin-server"), HasSubstr("--memory SIZE"),
                    HasSubstr("default 1GiB"), HasSubstr("--fabric shm|verbs"),
                    HasSubstr("at least 1MiB"), HasSubstr("-1 to 63"), Not(HasSubstr("\t"))));
}

TEST_F(OptionsTest, PrintConfigNamesOriginsAndReadsBack) {
  ASSERT_EQ(*Read({"--print-config", "--socket", " a #b \"c\\"}, {"DUNLIN_MEMORY=8192MiB"}),
            OptionSet::Action::kPrintConfig);
  const std::string printed = set_.PrintConfig();
  EXPECT_THAT(printed, HasSubstr("memory = 8GiB"));
  EXPECT_THAT(printed, HasSubstr("# from environment DUNLIN_MEMORY\n"));
  EXPECT_THAT(printed, HasSubstr("# from flag --socket\n"));
  EXPECT_THAT(printed, HasSubstr("# default\n"));

  Values again;
  OptionSet other("other", "");
  other.AddString("socket", &again.socket, "");
  other.AddBool("prefault", &again.prefault, "");
  other.AddInt("numa-node", &again.node, "");
  other.AddSize("memory", &again.memory, "");
  other.AddDuration("lease", &again.lease, "");
  other.AddEnum("fabric", &again.fabric, {"shm", "verbs"}, "");
  const std::string copy = WriteFile(printed);
  const std::vector<const char*> arguments = {"--config", copy.c_str()};
  ASSERT_TRUE(other.Read(arguments, {}).ok());
  EXPECT_EQ(again.socket, " a #b \"c\\");
  EXPECT_EQ(again.memory, uint64_t{8} << 30);
  EXPECT_EQ(again.node, -1);
  EXPECT_EQ(again.lease, 1'000'000'000);
}

TEST_F(OptionsTest, PrintConfigNamesTheFile) {
  const std::string file = WriteFile("lease = 30s\n");
  ASSERT_TRUE(Read({"--config", file}).ok());
  EXPECT_THAT(set_.PrintConfig(),
              AllOf(HasSubstr("# configuration file " + file + ", from flag --config\n"),
                    HasSubstr("# from file " + file + ":1\n")));
}

TEST(OptionSetDeathTest, WrongDeclarationsAreProgrammingErrors) {
  uint64_t size = 5;
  OptionSet set("p", "");
  set.AddSize("memory", &size, "");
  EXPECT_DEATH(set.AddSize("memory", &size, ""), "declared twice");
  EXPECT_DEATH(set.AddSize("Memory", &size, ""), "a-z");
  EXPECT_DEATH(set.AddSize("config", &size, ""), "taken");
  EXPECT_DEATH(set.AddSize("other", &size, "", {.min = 6}), "out of range");
  EXPECT_DEATH((void)set.OriginOf("none"), "no such option");
}

}  // namespace
}  // namespace dunlin
