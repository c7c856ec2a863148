#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/kvctl/doctor/gid_choice.h"
#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

constexpr char kPort[] = "/sys/class/infiniband/mlx5_0/ports/1";

std::string Gid(int index) { return std::string(kPort) + "/gids/" + std::to_string(index); }

TEST(GidChoice, RoutableVersion2FirstLinkLocalAndVersion1Last) {
  const std::vector<RankedGid> ranked =
      RankGids({{0, "fe80:0000:0000:0000:ba59:9fff:feaa:bbcc", "IB/RoCE v1", "eth0"},
                {1, "fe80:0000:0000:0000:ba59:9fff:feaa:bbcc", "RoCE v2", "eth0"},
                {2, "0000:0000:0000:0000:0000:0000:0000:0000", "RoCE v2", "eth0"},
                {3, "2001:0db8:0000:0000:0000:0000:0000:0001", "RoCE v2", "eth0"},
                {4, "0000:0000:0000:0000:0000:ffff:0a00:0001", "IB/RoCE v1", "eth0"},
                {5, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", "eth0"},
                {6, "0000:0000:0000:0000:0000:ffff:a9fe:0001", "RoCE v2", "eth0"}});
  std::vector<uint32_t> order;
  for (const RankedGid& each : ranked) order.push_back(each.gid.index);
  EXPECT_THAT(order, ::testing::ElementsAre(5, 3, 1, 6, 0, 4, 2));
  EXPECT_EQ(ranked.front().address, "10.0.0.1");
  EXPECT_EQ(ranked[1].address, "2001:db8::1");
  EXPECT_EQ(ranked.back().rank, GidRank::kUseless);
}

TEST(GidChoice, AddressesOfGids) {
  EXPECT_EQ(GidAddress("0000:0000:0000:0000:0000:ffff:0a01:0001"), "10.1.0.1");
  EXPECT_EQ(GidAddress("fe80:0000:0000:0000:0000:0000:0000:0001"), "fe80::1");
  EXPECT_EQ(GidAddress("garbage"), "");
}

TEST(DoctorGid, ARoutableEntryIsExplained) {
  const Finding finding = Only(CheckGids(FactsOf(ConnectxRoce(), ConnectxRoceCalls())), "gid");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(finding.text, HasSubstr("rdma_cm takes the entry of the local address"));
  EXPECT_THAT(finding.text, HasSubstr("best here is 3, 10.0.0.1"));
  const std::string evidence = EvidenceOf(finding);
  EXPECT_THAT(evidence, HasSubstr("gids/3 = 10.0.0.1, RoCE v2, eth0: first"));
  EXPECT_THAT(evidence, HasSubstr("gids/0 = fe80::ba59:9fff:feaa:bbcc, IB/RoCE v1, eth0: last"));
  EXPECT_THAT(evidence, HasSubstr("1 entries all zero: never chosen"));
}

TEST(DoctorGid, LinkLocalEntriesOnlyAreAProblem) {
  const Tree tree = (ConnectxRoce() - Gid(2)) - Gid(3);
  const Finding finding = Only(CheckGids(FactsOf(tree, ConnectxRoceCalls())), "gid");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(finding.text, HasSubstr("only link-local"));
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("gids/1 = fe80::ba59:9fff:feaa:bbcc, RoCE v2"));
  EXPECT_THAT(finding.remedy, HasSubstr("ip addr add ADDRESS/PREFIX dev eth0"));
}

TEST(DoctorGid, Version1OnlyIsAProblem) {
  const Tree tree = (ConnectxRoce() - Gid(1)) - Gid(3);
  const Finding finding = Only(CheckGids(FactsOf(tree, ConnectxRoceCalls())), "gid");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(finding.text, HasSubstr("RoCEv1"));
}

TEST(DoctorGid, AnEmptyTableOfAPortThatIsDownIsAWarning) {
  const Tree tree = (ConnectxRoce() - (std::string(kPort) + "/gids")) +
                    Tree{{std::string(kPort) + "/state", "1: DOWN\n"}};
  const Finding finding = Only(CheckGids(FactsOf(tree, ConnectxRoceCalls())), "gid");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_EQ(finding.text, "no usable entry");
}

TEST(DoctorGid, TheDefaultRoceVersion) {
  const std::string path = "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode";
  const auto mode = [](const Tree& tree) {
    return Only(CheckGids(FactsOf(tree, ConnectxRoceCalls())), "roce-mode");
  };
  EXPECT_EQ(mode(ConnectxRoce()).level, Level::kOk);
  const Finding first = mode(ConnectxRoce() + Tree{{path, "IB/RoCE v1\n"}});
  EXPECT_EQ(first.level, Level::kWarning);
  EXPECT_EQ(EvidenceOf(first), path + " = IB/RoCE v1\n");
  EXPECT_THAT(first.remedy, HasSubstr("echo \"RoCE v2\" > " + path));
  const Finding hidden = mode(ConnectxRoce() - path);
  EXPECT_EQ(hidden.level, Level::kNotShown);
  EXPECT_THAT(hidden.remedy, HasSubstr("mkdir /sys/kernel/config/rdma_cm/mlx5_0"));
}

TEST(DoctorGid, InfinibandNeedsAnAddressForRdmaCm) {
  const Findings healthy = CheckGids(FactsOf(ConnectxInfiniband(), ConnectxInfinibandCalls()));
  EXPECT_EQ(Only(healthy, "gid").level, Level::kOk);
  EXPECT_EQ(Only(healthy, "address").level, Level::kOk);
  EXPECT_EQ(EvidenceOf(Only(healthy, "address")), "addresses of ib0 = 192.168.7.1\n");

  const Tree without = ConnectxInfiniband() - "/sys/class/infiniband/mlx5_0/device/net";
  const Finding missing = Only(CheckGids(FactsOf(without, ConnectxInfinibandCalls())), "address");
  EXPECT_EQ(missing.level, Level::kProblem);
  EXPECT_THAT(missing.remedy, HasSubstr("modprobe ib_ipoib"));
}

TEST(DoctorGid, AnInterfaceWithOnlyALinkLocalAddress) {
  FakeCalls calls = ConnectxInfinibandCalls();
  calls.addresses = {{"ib0", "fe80::1%ib0"}};
  const Finding finding = Only(CheckGids(FactsOf(ConnectxInfiniband(), calls)), "address");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(finding.remedy, HasSubstr("ip addr add ADDRESS/PREFIX dev ib0"));
}

TEST(DoctorGid, IwarpGoesByAddressAndFindsItsInterfaceByHardwareAddress) {
  const Findings findings = CheckGids(FactsOf(IrdmaIwarp(), IrdmaIwarpCalls()));
  EXPECT_THAT(Only(findings, "gid").text, HasSubstr("iWARP runs over TCP"));
  EXPECT_EQ(Only(findings, "address").text, "connections go by the addresses of eth1");
}

TEST(DoctorGid, FilesAloneHaveNoAddresses) {
  const Finding finding = Only(CheckGids(FactsOfFiles(IrdmaIwarp())), "address");
  EXPECT_EQ(finding.level, Level::kNotShown);
  EXPECT_THAT(finding.text, HasSubstr("eth1"));
}

TEST(DoctorGid, TwoPortsHaveTheirOwnInterfaces) {
  const HostFacts facts = FactsOf(Cxgb4Iwarp(), FakeCalls());
  ASSERT_EQ(facts.devices.size(), 1u);
  ASSERT_EQ(facts.devices[0].ports.size(), 2u);
  EXPECT_EQ(facts.devices[0].ports[0].netdev, "eth2");
  EXPECT_EQ(facts.devices[0].ports[1].netdev, "eth3");
}

}  // namespace
}  // namespace dunlin::kvctl
