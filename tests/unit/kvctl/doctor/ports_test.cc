#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

constexpr char kPort[] = "/sys/class/infiniband/mlx5_0/ports/1";
constexpr char kDevice[] = "/sys/class/infiniband/mlx5_0/device";

std::string In(const char* folder, const char* name) { return std::string(folder) + "/" + name; }

Findings Roce(const Tree& changes) {
  return CheckPorts(FactsOf(ConnectxRoce() + changes, ConnectxRoceCalls()));
}
Findings Infiniband(const Tree& changes) {
  return CheckPorts(FactsOf(ConnectxInfiniband() + changes, ConnectxInfinibandCalls()));
}

TEST(DoctorPorts, HealthyPortsOfAllKinds) {
  for (const Findings& findings :
       {Roce({}), Infiniband({}), CheckPorts(FactsOf(IrdmaIwarp(), IrdmaIwarpCalls()))}) {
    EXPECT_FALSE(findings.empty());
    for (const Finding& finding : findings) {
      EXPECT_EQ(finding.level, Level::kOk) << finding.check << ": " << finding.text;
      EXPECT_EQ(finding.remedy, "");
    }
  }
}

TEST(DoctorPorts, ShowsStateLinkLayerAndSpeed) {
  const Finding finding = Only(Infiniband({}), "port-state");
  EXPECT_EQ(finding.subject, "mlx5_0 port 1");
  EXPECT_EQ(finding.text, "active, 200 Gb/sec (4X HDR)");
  const std::string evidence = EvidenceOf(finding);
  EXPECT_THAT(evidence, HasSubstr("ports/1/state = 4: ACTIVE\n"));
  EXPECT_THAT(evidence, HasSubstr("ports/1/phys_state = 5: LinkUp\n"));
  EXPECT_THAT(evidence, HasSubstr("ports/1/link_layer = InfiniBand\n"));
}

TEST(DoctorPorts, AnOnlyPortThatIsDownIsAProblem) {
  const Finding finding =
      Only(Roce({{In(kPort, "state"), "1: DOWN\n"}, {In(kPort, "phys_state"), "3: Disabled\n"}}),
           "port-state");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_EQ(finding.text, "not active: 1: DOWN");
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("phys_state = 3: Disabled"));
  EXPECT_THAT(finding.remedy, HasSubstr("ip link set eth0 up"));
}

TEST(DoctorPorts, NoSignal) {
  const Finding finding =
      Only(Roce({{In(kPort, "state"), "1: DOWN\n"}, {In(kPort, "phys_state"), "2: Polling\n"}}),
           "port-state");
  EXPECT_THAT(finding.remedy, HasSubstr("cable"));
}

TEST(DoctorPorts, APortThatIsDownBesideAnActiveOneIsAWarning) {
  const Tree tree =
      Cxgb4Iwarp() + Tree{{"/sys/class/infiniband/cxgb4_0/ports/2/state", "1: DOWN\n"}};
  for (const Finding& finding : CheckPorts(FactsOf(tree, FakeCalls()))) {
    if (finding.check != "port-state") continue;
    EXPECT_EQ(finding.level, finding.subject == "cxgb4_0 port 2" ? Level::kWarning : Level::kOk);
  }
}

TEST(DoctorPorts, NoSubnetManager) {
  const Findings findings =
      Infiniband({{In(kPort, "state"), "2: INIT\n"}, {In(kPort, "sm_lid"), "0x0\n"}});
  const Finding manager = Only(findings, "subnet-manager");
  EXPECT_EQ(manager.level, Level::kProblem);
  EXPECT_THAT(manager.remedy, HasSubstr("opensm"));
  EXPECT_THAT(EvidenceOf(manager), HasSubstr("sm_lid = 0x0"));
  EXPECT_THAT(Only(findings, "port-state").remedy, HasSubstr("subnet manager"));
}

TEST(DoctorPorts, ABusThatRunsSlowly) {
  const Finding finding = Only(Roce({{In(kDevice, "current_link_width"), "8\n"}}), "pcie-link");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("current_link_width = x8 of x16"));
  EXPECT_THAT(finding.remedy, HasSubstr("slot"));
}

TEST(DoctorPorts, ABusThatIsNotShown) {
  const Tree tree = ConnectxRoce() - In(kDevice, "max_link_speed");
  EXPECT_EQ(Only(CheckPorts(FactsOf(tree, ConnectxRoceCalls())), "pcie-link").level,
            Level::kNotShown);
}

}  // namespace
}  // namespace dunlin::kvctl
