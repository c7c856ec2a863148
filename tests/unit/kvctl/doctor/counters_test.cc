#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

constexpr char kMlx5[] = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/";

HostFacts Roce(const Tree& counters) {
  return FactsOf(ConnectxRoce() + counters, ConnectxRoceCalls());
}

Tree Counter(const char* name, int value) {
  return {{kMlx5 + std::string(name), std::to_string(value) + "\n"}};
}

TEST(DoctorCounters, QuietCounters) {
  const Findings findings = CheckCounters(Roce({}), nullptr);
  EXPECT_EQ(Only(findings, "loss").level, Level::kOk);
  EXPECT_EQ(Only(findings, "loss").text, "no loss was counted");
  EXPECT_EQ(Only(findings, "congestion").level, Level::kOk);
}

TEST(DoctorCounters, EveryMlx5CounterOfLossIsNoticed) {
  for (const char* name :
       {"out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err",
        "rnr_nak_retry_err", "roce_adp_retrans", "duplicate_request", "rx_icrc_encapsulated"}) {
    const Finding finding = Only(CheckCounters(Roce(Counter(name, 7)), nullptr), "loss");
    EXPECT_EQ(finding.level, Level::kWarning) << name;
    EXPECT_THAT(EvidenceOf(finding), HasSubstr(kMlx5 + std::string(name) + " = 7 "));
    EXPECT_THAT(finding.remedy, HasSubstr("kvctl doctor --over 10s"));
  }
}

TEST(DoctorCounters, LossThatRisesIsAProblem) {
  const HostFacts before = Roce(Counter("out_of_sequence", 7));
  const HostFacts now = Roce(Counter("out_of_sequence", 12));
  const Finding finding = Only(CheckCounters(now, &before), "loss");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(finding.text, HasSubstr("are being lost"));
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("= 12 packets that arrived out of order, 5 more"));
  EXPECT_THAT(finding.remedy, HasSubstr("lossless"));
}

TEST(DoctorCounters, LossOfASoftDeviceIsTheProcessorsAndAWarning) {
  const Tree soft = ConnectxRoce() + Tree{{"/sys/class/infiniband/mlx5_0/parent", "eth0\n"}};
  const HostFacts before = FactsOf(soft, ConnectxRoceCalls());
  const HostFacts now = FactsOf(soft + Counter("completer_retry_err", 3), ConnectxRoceCalls());
  const Finding finding = Only(CheckCounters(now, &before), "loss");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(finding.remedy, HasSubstr("processor"));
}

TEST(DoctorCounters, LossThatDoesNotRiseIsPast) {
  const HostFacts both = Roce(Counter("local_ack_timeout_err", 7));
  const Finding finding = Only(CheckCounters(both, &both), "loss");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_THAT(finding.text, HasSubstr("but not while this was watched"));
}

TEST(DoctorCounters, ACounterThatWasResetDoesNotRise) {
  const HostFacts before = Roce(Counter("out_of_sequence", 100));
  const HostFacts now = Roce(Counter("out_of_sequence", 5));
  EXPECT_EQ(Only(CheckCounters(now, &before), "loss").level, Level::kOk);
}

TEST(DoctorCounters, CongestionIsAtMostAWarning) {
  for (const char* name :
       {"np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "rp_cnp_ignored"}) {
    const HostFacts before = Roce({});
    const HostFacts now = Roce(Counter(name, 3));
    EXPECT_EQ(Only(CheckCounters(now, nullptr), "congestion").level, Level::kWarning) << name;
    const Finding rising = Only(CheckCounters(now, &before), "congestion");
    EXPECT_EQ(rising.level, Level::kWarning) << name;
    EXPECT_THAT(rising.remedy, HasSubstr("fan-in"));
  }
}

TEST(DoctorCounters, RxeHasItsOwnNames) {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters";
  for (const char* name : {"out_of_seq_request", "rcvd_seq_err", "completer_retry_err",
                           "retry_exceeded_err", "rcvd_rnr_err", "send_err"}) {
    const Tree tree = (ConnectxRoce() - port) + Counter(name, 1);
    const HostFacts facts = FactsOf(tree, ConnectxRoceCalls());
    EXPECT_EQ(Only(CheckCounters(facts, nullptr), "loss").level, Level::kWarning) << name;
  }
}

TEST(DoctorCounters, ADriverWithoutCounters) {
  const Tree tree = ConnectxRoce() - "/sys/class/infiniband/mlx5_0/ports/1/hw_counters";
  const Findings findings = CheckCounters(FactsOf(tree, ConnectxRoceCalls()), nullptr);
  EXPECT_EQ(Only(findings, "loss").level, Level::kNotShown);
  EXPECT_EQ(Only(findings, "congestion").level, Level::kNotShown);
}

TEST(DoctorCounters, RequestsToConnectThatGoUnanswered) {
  const std::string path = "/sys/class/infiniband/mlx5_0/ports/1/cm_tx_retries/req";
  const HostFacts before = Roce({{path, "0\n"}});
  const HostFacts now = Roce({{path, "15\n"}});
  EXPECT_EQ(Only(CheckCounters(before, nullptr), "connecting").level, Level::kOk);
  const Finding rising = Only(CheckCounters(now, &before), "connecting");
  EXPECT_EQ(rising.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(rising), HasSubstr(path + " = 15 requests to connect sent again"));
  EXPECT_THAT(rising.remedy, HasSubstr("UDP 4791"));
  EXPECT_EQ(Only(CheckCounters(Roce({}), nullptr), "connecting").level, Level::kNotShown);
}

TEST(DoctorCounters, InfinibandHasNoCongestionNotifications) {
  const Findings findings =
      CheckCounters(FactsOf(ConnectxInfiniband(), ConnectxInfinibandCalls()), nullptr);
  for (const Finding& finding : findings) EXPECT_NE(finding.check, "congestion");
  EXPECT_EQ(Only(findings, "loss").level, Level::kOk);
}

TEST(DoctorCounters, RetransmissionsOfIrdma) {
  const std::string name = "/sys/class/infiniband/irdma0/ports/1/hw_counters/tcpRetransSegs";
  const HostFacts before = FactsOf(IrdmaIwarp(), IrdmaIwarpCalls());
  const HostFacts now = FactsOf(IrdmaIwarp() + Tree{{name, "9\n"}}, IrdmaIwarpCalls());
  EXPECT_EQ(Only(CheckCounters(before, nullptr), "retransmissions").level, Level::kOk);
  EXPECT_EQ(Only(CheckCounters(now, nullptr), "retransmissions").level, Level::kWarning);
  const Finding rising = Only(CheckCounters(now, &before), "retransmissions");
  EXPECT_EQ(rising.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(rising), HasSubstr(name + " = 9 TCP segments sent again, 9 more"));
  EXPECT_NE(rising.remedy, "");
}

TEST(DoctorCounters, RetransmissionsOfCxgb4AreTheDevices) {
  const std::string name = "/sys/class/infiniband/cxgb4_0/hw_counters/ip4RetransSegs";
  const HostFacts facts = FactsOf(Cxgb4Iwarp() + Tree{{name, "2\n"}}, FakeCalls());
  const Findings findings = CheckCounters(facts, nullptr);
  ASSERT_EQ(findings.size(), 2u);  // one for each port
  EXPECT_EQ(findings[0].level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(findings[0]), HasSubstr(name + " = 2 "));
}

// siw: drivers/infiniband/sw/siw has no counters; its connections are the kernel's sockets.
TEST(DoctorCounters, SoftIwarpFallsBackToTheHostsTcp) {
  const Tree quiet = (IrdmaIwarp() - "/sys/class/infiniband/irdma0/ports/1/hw_counters") -
                     "/sys/class/infiniband/irdma0/device";
  const Tree busy =
      quiet + Tree{{"/proc/net/snmp", "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 1000 4\n"}};
  const HostFacts before = FactsOf(quiet, IrdmaIwarpCalls());
  const HostFacts now = FactsOf(busy, IrdmaIwarpCalls());
  EXPECT_TRUE(now.devices[0].soft);
  const Finding once = Only(CheckCounters(now, nullptr), "retransmissions");
  EXPECT_EQ(once.level, Level::kOk);
  EXPECT_THAT(once.text, HasSubstr("the whole host's"));
  EXPECT_THAT(EvidenceOf(once), HasSubstr("Tcp/RetransSegs = 4 "));
  EXPECT_THAT(EvidenceOf(once), HasSubstr("Tcp/OutSegs = 1000"));
  EXPECT_EQ(Only(CheckCounters(now, &before), "retransmissions").level, Level::kWarning);
}

}  // namespace
}  // namespace dunlin::kvctl
