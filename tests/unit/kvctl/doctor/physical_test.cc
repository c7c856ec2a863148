#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;

constexpr char kCounters[] = "/sys/class/infiniband/mlx5_0/ports/1/counters/";

HostFacts Infiniband(const Tree& changes) {
  return FactsOf(ConnectxInfiniband() + changes, ConnectxInfinibandCalls());
}

Findings Link(const std::function<void(LinkAnswers&)>& change) {
  FakeCalls calls = ConnectxRoceCalls();
  change(calls.links["eth0"]);
  return CheckPhysical(FactsOf(ConnectxRoce(), calls), nullptr);
}

TEST(DoctorPhysical, AHealthyLink) {
  const Findings findings = Link([](LinkAnswers&) {});
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.check << ": " << finding.text;
  }
  EXPECT_EQ(Only(findings, "fec").text, "forward error correction: RS");
  EXPECT_THAT(EvidenceOf(Only(findings, "module")), HasSubstr("= 45.5 C\n"));
  EXPECT_THAT(EvidenceOf(Only(findings, "module")), HasSubstr("receives 900, 910, 890, 905 uW"));
  EXPECT_THAT(EvidenceOf(Only(findings, "temperature")), HasSubstr("= asic 52.0 C, limit 105.0 C"));
}

TEST(DoctorPhysical, EveryCounterOfTheWireIsNoticed) {
  for (const char* name : {"symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors",
                           "port_rcv_remote_physical_errors", "local_link_integrity_errors",
                           "excessive_buffer_overrun_errors", "port_xmit_discards"}) {
    const HostFacts before = Infiniband({});
    const HostFacts now = Infiniband({{kCounters + std::string(name), "3\n"}});
    const Finding once = Only(CheckPhysical(now, nullptr), "errors-on-the-wire");
    EXPECT_EQ(once.level, Level::kWarning) << name;
    EXPECT_THAT(EvidenceOf(once), HasSubstr(kCounters + std::string(name) + " = 3 "));
    EXPECT_THAT(once.remedy, HasSubstr("--over 10s"));
    const Finding rising = Only(CheckPhysical(now, &before), "errors-on-the-wire");
    EXPECT_EQ(rising.level, Level::kProblem) << name;
    EXPECT_THAT(rising.remedy, HasSubstr("cable"));
    EXPECT_EQ(Only(CheckPhysical(now, &now), "errors-on-the-wire").level, Level::kOk);
  }
}

TEST(DoctorPhysical, TheInterfacesStatisticsCountToo) {
  const Finding finding =
      Only(Link([](LinkAnswers& link) { (*link.statistics)["rx_symbol_err_phy"] = 8; }),
           "errors-on-the-wire");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("ethtool -S eth0/rx_symbol_err_phy = 8 "));
}

TEST(DoctorPhysical, ADriverWithoutCounters) {
  const HostFacts facts = FactsOf(IrdmaIwarp(), FakeCalls());
  EXPECT_EQ(Only(CheckPhysical(facts, nullptr), "errors-on-the-wire").level, Level::kNotShown);
}

TEST(DoctorPhysical, FecOffAtASpeedThatNeedsIt) {
  const Finding finding = Only(Link([](LinkAnswers& link) { link.fec = "off"; }), "fec");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("ETHTOOL_GFECPARAM(eth0) = off"));
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("/sys/class/net/eth0/speed = 100000 Mbit/s"));
  EXPECT_THAT(finding.remedy, HasSubstr("ethtool --set-fec eth0"));
}

TEST(DoctorPhysical, WhatTheDriverDoesntTellIsSaid) {
  const Findings findings = Link([](LinkAnswers& link) {
    link.fec = absl::UnavailableError("ETHTOOL_GFECPARAM: Operation not supported");
    link.module = absl::UnavailableError("ETHTOOL_GMODULEINFO: Operation not permitted");
  });
  EXPECT_EQ(Only(findings, "fec").level, Level::kNotShown);
  EXPECT_EQ(Only(findings, "module").level, Level::kNotShown);
  EXPECT_THAT(EvidenceOf(Only(findings, "module")), HasSubstr("Operation not permitted"));
}

TEST(DoctorPhysical, AHotModule) {
  const auto at = [](double celsius) {
    return Only(Link([&](LinkAnswers& link) { link.module->celsius = celsius; }), "module");
  };
  EXPECT_EQ(at(69).level, Level::kOk);
  EXPECT_EQ(at(71).level, Level::kWarning);
  EXPECT_EQ(at(76).level, Level::kProblem);
  EXPECT_EQ(at(76).text, "the module is too hot: 76.0 C");
  EXPECT_THAT(at(76).remedy, HasSubstr("airflow"));
}

TEST(DoctorPhysical, TooLittleLight) {
  const auto lane = [](double power) {
    return Only(Link([&](LinkAnswers& link) { link.module->receive_microwatts[2] = power; }),
                "module");
  };
  EXPECT_EQ(lane(119).level, Level::kWarning);
  EXPECT_EQ(lane(79).level, Level::kProblem);
  EXPECT_THAT(lane(79).text, HasSubstr("too little light: 79 uW"));
  EXPECT_THAT(lane(79).remedy, HasSubstr("clean the connectors"));
}

TEST(DoctorPhysical, AHotAdapter) {
  const Tree tree =
      ConnectxRoce() +
      Tree{{"/sys/class/infiniband/mlx5_0/device/hwmon/hwmon2/temp1_input", "106000\n"}};
  const Finding finding =
      Only(CheckPhysical(FactsOf(tree, ConnectxRoceCalls()), nullptr), "temperature");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(finding.text, HasSubstr("too hot: asic 106.0 C"));
}

}  // namespace
}  // namespace dunlin::kvctl
