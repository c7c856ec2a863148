#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTos[] = "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos";
constexpr char kNp[] = "/sys/class/net/eth0/ecn/roce_np/enable/3";
constexpr char kRp[] = "/sys/class/net/eth0/ecn/roce_rp/enable/3";

Findings Check(const Tree& tree, const FakeCalls& calls = ConnectxRoceCalls()) {
  return CheckLossless(FactsOf(tree, calls));
}

FakeCalls Pfc(absl::StatusOr<uint8_t> enabled) {
  FakeCalls calls = ConnectxRoceCalls();
  calls.links["eth0"].pfc_enabled = std::move(enabled);
  return calls;
}

TEST(DoctorLossless, AHealthySetUp) {
  const Findings findings = Check(ConnectxRoce());
  for (const Finding& finding : findings) EXPECT_EQ(finding.level, Level::kOk) << finding.text;
  EXPECT_EQ(Only(findings, "pfc").text, "priority flow control is on for priority 3");
  EXPECT_THAT(EvidenceOf(Only(findings, "pfc")), HasSubstr("ethtool -S eth0: rx_prio3_pause = 12"));
  EXPECT_THAT(Only(findings, "traffic-class").text,
              HasSubstr("traffic class 106: DSCP 26, by the default map priority 3"));
}

TEST(DoctorLossless, OnlyRoceIsAsked) {
  EXPECT_TRUE(Check(ConnectxInfiniband(), ConnectxInfinibandCalls()).empty());
  EXPECT_TRUE(Check(IrdmaIwarp(), IrdmaIwarpCalls()).empty());
}

TEST(DoctorLossless, NoLosslessPriority) {
  const Finding finding = Only(Check(ConnectxRoce(), Pfc(uint8_t{0})), "pfc");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("DCB_CMD_IEEE_GET(eth0) = pfc_en: priorities none"));
  EXPECT_THAT(finding.remedy, HasSubstr("dcb pfc set dev eth0"));
}

TEST(DoctorLossless, ADriverThatDoesntTellOfPfc) {
  const Finding finding =
      Only(Check(ConnectxRoce(), Pfc(absl::UnavailableError("Operation not supported"))), "pfc");
  EXPECT_EQ(finding.level, Level::kNotShown);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("Operation not supported"));
  EXPECT_THAT(finding.remedy, HasSubstr("mlnx_qos -i eth0"));
}

TEST(DoctorLossless, CongestionControl) {
  const Finding off = Only(Check(ConnectxRoce() + Tree{{kRp, "0\n"}}), "ecn");
  EXPECT_EQ(off.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(off), HasSubstr("roce_rp/enable = on for priorities none"));
  EXPECT_THAT(off.remedy, HasSubstr("echo 1 > /sys/class/net/eth0/ecn/roce_rp/enable/3"));
  const Finding hidden = Only(Check((ConnectxRoce() - kNp) - kRp), "ecn");
  EXPECT_EQ(hidden.level, Level::kNotShown);
}

TEST(DoctorLossless, UnmarkedPackets) {
  const Finding finding = Only(Check(ConnectxRoce() + Tree{{kTos, "0\n"}}), "traffic-class");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr(std::string(kTos) + " = 0"));
  EXPECT_THAT(finding.remedy, HasSubstr("echo 106"));
}

TEST(DoctorLossless, MarkedForAnotherPriorityThanTheLosslessOne) {
  const Finding finding = Only(Check(ConnectxRoce() + Tree{{kTos, "160\n"}}), "traffic-class");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(finding.text, HasSubstr("priority 5, which is not lossless: 3 is"));
}

TEST(DoctorLossless, TheDriversOwnTrafficClassBeatsRdmaCms) {
  const Tree tree = ConnectxRoce() + Tree{{kTos, "0\n"},
                                          {"/sys/class/infiniband/mlx5_0/tc/1/traffic_class",
                                           "Global tclass=106\n"}};
  EXPECT_EQ(Only(Check(tree), "traffic-class").level, Level::kOk);
}

TEST(DoctorLossless, ATrafficClassThatIsNotShown) {
  const Finding finding = Only(Check(ConnectxRoce() - kTos), "traffic-class");
  EXPECT_EQ(finding.level, Level::kNotShown);
  EXPECT_THAT(finding.remedy, HasSubstr("mkdir"));
}

TEST(DoctorLossless, SoftDevicesHaveNoQueues) {
  const Tree soft = (ConnectxRoce() - "/sys/class/infiniband/mlx5_0/device") +
                    Tree{{"/sys/class/infiniband/mlx5_0/parent", "eth0\n"}};
  const Finding finding = Only(Check(soft), "pfc");
  EXPECT_EQ(finding.level, Level::kNotShown);
  EXPECT_THAT(finding.text, HasSubstr("soft"));
}

}  // namespace
}  // namespace dunlin::kvctl
