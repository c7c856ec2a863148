#include "client/kvctl/commands/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace dunlin::kvctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<CommandWords> Commands() {
  return {
      {"",
       "",
       {{"--server", "Socket", {}, true}, {"--output", "How", {"table", "json"}, true}},
       {}},
      {"get", "Get a value", {{"--raw", "Bytes", {}, false}}, {}},
      {"import",
       "It's an import",
       {{"--format", "F", {"json", "lines"}, true}, {"--file", "F", {}, true}},
       {}},
      {"completion", "Script", {}, {"bash", "zsh"}},
  };
}

// What bash offers for the last of `words`.
std::vector<std::string> BashOffers(const std::string& words, int count) {
  const std::string path = ::testing::TempDir() + "/kvctl_completion_test.sh";
  std::ofstream(path) << CompletionScript(Shell::kBash, Commands()) << "COMP_WORDS=(" << words
                      << ")\nCOMP_CWORD=" << count - 1 << "\n_kvctl\n"
                      << "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  FILE* pipe = ::popen(("bash --norc " + path + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), n);
  }
  EXPECT_EQ(::pclose(pipe), 0) << text;
  std::remove(path.c_str());
  std::vector<std::string> offers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) offers.push_back(line);
  }
  return offers;
}

TEST(Completion, BashOffersCommandsOptionsAndChoices) {
  EXPECT_THAT(BashOffers("kvctl ''", 2),
              ElementsAre("get", "import", "completion", "--server", "--output"));
  EXPECT_THAT(BashOffers("kvctl i", 2), ElementsAre("import"));
  EXPECT_THAT(BashOffers("kvctl import --f", 3), ElementsAre("--format", "--file"));
  EXPECT_THAT(BashOffers("kvctl import --format ''", 4), ElementsAre("json", "lines"));
  EXPECT_THAT(BashOffers("kvctl import --format l", 4), ElementsAre("lines"));
  EXPECT_THAT(BashOffers("kvctl import --file l", 4), IsEmpty());
  EXPECT_THAT(BashOffers("kvctl get --output j", 4), ElementsAre("json"));
  EXPECT_THAT(BashOffers("kvctl completion ''", 3), ElementsAre("bash", "zsh"));
}

TEST(Completion, BashDoesNotTakeAnOptionsValueForACommand) {
  EXPECT_THAT(BashOffers("kvctl --server get imp", 4), ElementsAre("import"));
}

TEST(Completion, ZshDescribesCommands) {
  const std::string script = CompletionScript(Shell::kZsh, Commands());
  EXPECT_THAT(script, HasSubstr("#compdef kvctl\n"));
  EXPECT_THAT(script, HasSubstr("'get:Get a value' 'import:It'\\''s an import'"));
  EXPECT_THAT(script, HasSubstr("import:--format) compadd -- json lines; return ;;"));
}

}  // namespace
}  // namespace dunlin::kvctl
