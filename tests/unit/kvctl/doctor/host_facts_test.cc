#include "client/kvctl/doctor/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/kvctl/doctor/file_tree.h"
#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::ElementsAre;

TEST(FileTree, ReadsBelowItsRootOnly) {
  const WrittenTree written({{"/a/10", " x \n"}, {"/a/9", "7\n"}, {"/a/n", "7x\n"}});
  const FolderTree tree(written.root() + "/");
  EXPECT_EQ(tree.Text("/a/10"), "x");
  EXPECT_EQ(tree.Number("/a/9"), 7u);
  EXPECT_EQ(tree.Number("/a/n"), std::nullopt);
  EXPECT_EQ(tree.Text("/a"), std::nullopt);
  EXPECT_EQ(tree.Text("/b"), std::nullopt);
  EXPECT_THAT(tree.Names("/a"), ElementsAre("9", "10", "n"));
  EXPECT_TRUE(tree.Names("/b").empty());
  EXPECT_EQ(tree.Numbers("/a"), (std::map<std::string, uint64_t>{{"9", 7}}));
  EXPECT_TRUE(tree.Exists("/a/n"));
  EXPECT_FALSE(tree.Exists("/proc"));
}

// The other tests read their trees from memory; a folder must tell the same.
TEST(FileTree, AFolderTellsWhatMemoryTells) {
  for (const Tree& tree : {ConnectxInfiniband(), ConnectxRoce(), IrdmaIwarp(), Cxgb4Iwarp()}) {
    const WrittenTree written(tree);
    const Findings folder = CheckHost(ReadHostFacts(FolderTree(written.root()), nullptr), nullptr);
    const Findings memory = CheckHost(FactsOfFiles(tree), nullptr);
    ASSERT_EQ(folder.size(), memory.size());
    for (size_t i = 0; i < folder.size(); ++i) {
      EXPECT_EQ(folder[i].text, memory[i].text);
      EXPECT_EQ(EvidenceOf(folder[i]), EvidenceOf(memory[i]));
    }
  }
}

TEST(FileTree, Texts) {
  EXPECT_EQ(Trimmed(" \t\n"), "");
  EXPECT_THAT(Lines("a\n\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(Words("  a\tb "), ElementsAre("a", "b"));
  EXPECT_EQ(ParseNumber("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseNumber(""), std::nullopt);
}

TEST(HostFacts, KindsOfDevices) {
  EXPECT_FALSE(FactsOfFiles(ConnectxRoce()).devices.at(0).iwarp);
  EXPECT_FALSE(FactsOfFiles(ConnectxRoce()).devices.at(0).soft);
  EXPECT_TRUE(FactsOfFiles(IrdmaIwarp()).devices.at(0).iwarp);
  EXPECT_FALSE(FactsOfFiles(IrdmaIwarp()).devices.at(0).soft);
  EXPECT_FALSE(FactsOfFiles(Cxgb4Iwarp()).devices.at(0).soft);
}

// siw stands on the bus device of its interface, but has neither a board nor counters.
TEST(HostFacts, SoftIwarpOnAnAdaptersInterface) {
  const Tree tree = IrdmaIwarp() - "/sys/class/infiniband/irdma0/ports/1/hw_counters";
  EXPECT_TRUE(FactsOfFiles(tree).devices.at(0).soft);
}

TEST(HostFacts, LimitsAndCapabilitiesOfTheProcess) {
  const HostFacts facts = FactsOfFiles(PlainHost());
  EXPECT_EQ(facts.process.memlock_soft, "unlimited");
  EXPECT_EQ(facts.process.effective_capabilities, 0u);
  EXPECT_EQ(facts.memory.total_bytes, uint64_t{64} << 30);
  EXPECT_EQ(facts.tcp.sent, 1000u);
  EXPECT_EQ(facts.tcp.retransmitted, 0u);
  EXPECT_TRUE(facts.container_signs.empty());
  EXPECT_FALSE(facts.called);
}

TEST(HostFacts, AnEmptyTreeHasNothing) {
  const HostFacts facts = FactsOfFiles({{"/x", ""}});
  EXPECT_TRUE(facts.devices.empty());
  EXPECT_EQ(facts.process.memlock_soft, "");
  EXPECT_EQ(facts.process.effective_capabilities, std::nullopt);
  for (const Finding& finding : CheckHost(facts, nullptr)) {
    EXPECT_NE(finding.level, Level::kProblem) << finding.check;
  }
}

// Files of sysfs may hold anything after a driver's bug.
TEST(HostFacts, NonsenseIsSurvived) {
  Tree tree = ConnectxRoce();
  for (auto& [path, contents] : tree) {
    if (path.starts_with("/dev")) continue;
    contents = std::string("\xff\0:=99999999999999999999 -", 24);
  }
  const HostFacts facts = FactsOfFiles(tree);
  EXPECT_FALSE(CheckHost(facts, &facts).empty());
}

}  // namespace
}  // namespace dunlin::kvctl
