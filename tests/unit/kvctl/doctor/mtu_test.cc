#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

Finding Roce(const std::string& netdev_mtu, uint32_t active) {
  FakeCalls calls = ConnectxRoceCalls();
  calls.devices->front().ports.front().active_mtu = active;
  const Tree tree = ConnectxRoce() + Tree{{"/sys/class/net/eth0/mtu", netdev_mtu}};
  return Only(CheckMtu(FactsOf(tree, calls)), "mtu");
}

TEST(DoctorMtu, FullPackets) {
  const Finding finding = Roce("9000\n", 4096);
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(EvidenceOf(finding),
              HasSubstr("ibv_query_port(mlx5_0) = active_mtu 4096, max_mtu 4096\n"));
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("/sys/class/net/eth0/mtu = 9000\n"));
}

TEST(DoctorMtu, AnInterfaceWithTheUsualMtuMakesSmallPackets) {
  const Finding finding = Roce("1500\n", 1024);
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_EQ(finding.text, "RDMA packets carry 1024 bytes, of 4096 possible");
  EXPECT_THAT(finding.remedy, HasSubstr("ip link set eth0 mtu 9000, on both ends"));
}

TEST(DoctorMtu, APortThatDidNotFollowItsInterface) {
  const Finding finding = Roce("9000\n", 1024);
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(finding.text, HasSubstr("it was changed"));
  EXPECT_THAT(finding.remedy, HasSubstr("ip link set eth0 down"));
}

TEST(DoctorMtu, PacketsThatDontFit) {
  for (const Finding& finding : {Roce("1500\n", 4096), Roce("256\n", 256)}) {
    EXPECT_EQ(finding.level, Level::kProblem);
    EXPECT_THAT(finding.text, HasSubstr("don't fit"));
  }
}

// 4096 bytes and 96 of headers, as the kernel's iboe_get_mtu has it.
TEST(DoctorMtu, TheBorderIsTheKernels) {
  EXPECT_EQ(Roce("4192\n", 4096).level, Level::kOk);
  EXPECT_EQ(Roce("4191\n", 2048).text, "RDMA packets carry 2048 bytes, of 4096 possible");
}

TEST(DoctorMtu, FilesAloneTellWhatTheInterfaceAllows) {
  const Finding finding = Only(CheckMtu(FactsOfFiles(ConnectxRoce())), "mtu");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("ibv_query_port(mlx5_0) = not asked"));
}

TEST(DoctorMtu, AnInterfaceThatIsNotShown) {
  const Tree tree = ConnectxRoce() - "/sys/class/net/eth0";
  EXPECT_EQ(Only(CheckMtu(FactsOf(tree, ConnectxRoceCalls())), "mtu").level, Level::kNotShown);
}

TEST(DoctorMtu, InfinibandIsLimitedByTheSubnetManager) {
  FakeCalls calls = ConnectxInfinibandCalls();
  EXPECT_EQ(Only(CheckMtu(FactsOf(ConnectxInfiniband(), calls)), "mtu").level, Level::kOk);
  calls.devices->front().ports.front().active_mtu = 2048;
  const Finding finding = Only(CheckMtu(FactsOf(ConnectxInfiniband(), calls)), "mtu");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(finding.remedy, HasSubstr("subnet manager"));
  EXPECT_EQ(Only(CheckMtu(FactsOfFiles(ConnectxInfiniband())), "mtu").level, Level::kNotShown);
}

TEST(DoctorMtu, IwarpOnlyGainsForLargeValues) {
  EXPECT_EQ(Only(CheckMtu(FactsOf(IrdmaIwarp(), IrdmaIwarpCalls())), "mtu").remedy, "");
  const Tree tree = IrdmaIwarp() + Tree{{"/sys/class/net/eth1/mtu", "1500\n"}};
  const Finding finding = Only(CheckMtu(FactsOf(tree, IrdmaIwarpCalls())), "mtu");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(finding.remedy, HasSubstr("mtu 9000"));
}

}  // namespace
}  // namespace dunlin::kvctl
