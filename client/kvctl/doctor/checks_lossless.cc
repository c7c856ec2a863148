#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/kvctl/doctor/checks.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr int kPriorities = 8;

std::string PrioritiesOf(uint8_t mask) {
  std::vector<int> priorities;
  for (int priority = 0; priority < kPriorities; ++priority) {
    if ((mask >> priority & 1) != 0) priorities.push_back(priority);
  }
  return priorities.empty() ? "none" : absl::StrJoin(priorities, ", ");
}

Finding Pfc(const NetdevFacts& netdev) {
  Finding finding{"pfc", netdev.name, Level::kOk, "", {}, ""};
  const absl::StatusOr<uint8_t>& enabled = netdev.link.pfc_enabled;
  if (!enabled.ok()) {
    finding.level = Level::kNotShown;
    finding.text = "the driver doesn't tell whether priority flow control is on";
    finding.evidence.push_back({"DCB_CMD_IEEE_GET(" + netdev.name + ")",
                                std::string(FromAbsl(enabled.status().message()))});
    finding.remedy = absl::StrCat("dcb pfc show dev ", netdev.name, ", or mlnx_qos -i ",
                                  netdev.name, "; and see the switch's ports");
    return finding;
  }
  finding.evidence.push_back(
      {"DCB_CMD_IEEE_GET(" + netdev.name + ")", "pfc_en: priorities " + PrioritiesOf(*enabled)});
  if (netdev.link.statistics.ok()) {
    for (const auto& [name, value] : *netdev.link.statistics) {
      const bool pause = name.find("_prio") != std::string::npos && name.ends_with("_pause");
      if (pause && value > 0) {
        finding.evidence.push_back(
            {absl::StrCat("ethtool -S ", netdev.name, ": ", name), absl::StrCat(value)});
      }
    }
  }
  if (*enabled == 0) {
    finding.level = Level::kWarning;
    finding.text =
        "no priority is lossless: RoCEv2 then loses packets under congestion, and each "
        "loss resends all that follows, or waits for a timeout";
    finding.remedy = absl::StrCat(
        "on both ends and the switches, for RDMA's priority only: dcb pfc set dev ", netdev.name,
        " prio-pfc all:off 3:on (or mlnx_qos --pfc 0,0,0,1,0,0,0,0 --trust dscp); ECN too");
  } else {
    finding.text =
        absl::StrCat("priority flow control is on for priority ", PrioritiesOf(*enabled));
  }
  return finding;
}

bool AnyOn(const std::map<std::string, uint64_t>& switches) {
  return std::any_of(switches.begin(), switches.end(),
                     [](const auto& each) { return each.second != 0; });
}

std::string OnesOf(const std::map<std::string, uint64_t>& switches) {
  std::vector<std::string> on;
  for (const auto& [priority, value] : switches) {
    if (value != 0) on.push_back(priority);
  }
  return absl::StrCat("on for priorities ", on.empty() ? "none" : absl::StrJoin(on, ", "));
}

Finding Ecn(const NetdevFacts& netdev) {
  Finding finding{"ecn", netdev.name, Level::kOk, "", {}, ""};
  const std::string np = netdev.path + "/ecn/roce_np/enable";
  const std::string rp = netdev.path + "/ecn/roce_rp/enable";
  if (netdev.ecn_np.empty() && netdev.ecn_rp.empty()) {
    finding.level = Level::kNotShown;
    finding.text =
        "congestion control's switches are not shown: only MLNX_OFED's driver has these "
        "files; the counters of CNPs and ECN marks tell whether it works";
    finding.evidence = {{np, "missing"}, {rp, "missing"}};
    return finding;
  }
  finding.evidence = {{np, OnesOf(netdev.ecn_np)}, {rp, OnesOf(netdev.ecn_rp)}};
  if (AnyOn(netdev.ecn_np) && AnyOn(netdev.ecn_rp)) {
    finding.text = "congestion is answered with CNPs, and CNPs are heeded";
  } else {
    finding.level = Level::kWarning;
    finding.text =
        "congestion control (DCQCN) is off on one side or both: queues fill until "
        "packets are paused or lost";
    finding.remedy = absl::StrCat("echo 1 > ", np, "/3; echo 1 > ", rp,
                                  "/3 (RDMA's priority), and ECN marking on the switches");
  }
  return finding;
}

// The priority that a type of service falls into by the default map: DSCP / 8.
int PriorityOf(uint64_t tos) { return static_cast<int>((tos & 0xff) >> 5); }

void JudgeTos(const NetdevFacts* netdev, uint64_t tos, const std::string& set, Finding* finding) {
  if (tos == 0) {
    finding->level = Level::kWarning;
    finding->text =
        "RDMA's packets are marked as ordinary ones: they share the queue, and the "
        "losses, of all other traffic";
    finding->remedy = set;
    return;
  }
  finding->text = absl::StrCat("RDMA's packets carry traffic class ", tos, ": DSCP ", tos >> 2,
                               ", by the default map priority ", PriorityOf(tos));
  if (netdev == nullptr || !netdev->link.pfc_enabled.ok() || *netdev->link.pfc_enabled == 0) return;
  if ((*netdev->link.pfc_enabled >> PriorityOf(tos) & 1) != 0) return;
  finding->level = Level::kWarning;
  absl::StrAppend(&finding->text,
                  ", which is not lossless: ", PrioritiesOf(*netdev->link.pfc_enabled), " is");
  finding->evidence.push_back({"DCB_CMD_IEEE_GET(" + netdev->name + ")",
                               "pfc_en: priorities " + PrioritiesOf(*netdev->link.pfc_enabled)});
  finding->remedy = "choose a DSCP of the lossless priority, or turn PFC on for this one";
}

Finding TrafficClass(const HostFacts& facts, const RdmaDeviceFacts& device,
                     const RdmaPortFacts& port) {
  Finding finding{"traffic-class", PortName(device, port), Level::kOk, "", {}, ""};
  const std::string folder = absl::StrCat("/sys/kernel/config/rdma_cm/", device.name);
  const std::string tos_path = absl::StrCat(folder, "/ports/", port.number, "/default_roce_tos");
  finding.evidence = {{tos_path, Shown(port.cm_roce_tos)},
                      {port.traffic_class_path, Shown(port.traffic_class)}};
  // "Global tclass=106" is how MLNX_OFED shows its own.
  const size_t equals = port.traffic_class.find("tclass=");
  std::optional<uint64_t> forced;
  if (equals != std::string::npos) forced = ParseNumber(port.traffic_class.substr(equals + 7));
  const std::optional<uint64_t> tos = forced ? forced : ParseNumber(port.cm_roce_tos);
  const std::string set = absl::StrCat("mkdir -p ", folder, "; echo 106 > ", tos_path,
                                       " (DSCP 26 with ECN), as the switches are set up");
  if (tos) {
    JudgeTos(facts.NetdevOf(port), *tos, set, &finding);
    return finding;
  }
  finding.level = Level::kNotShown;
  finding.text = "the traffic class shows only once rdma_cm's configfs folder is made";
  finding.remedy = set;
  return finding;
}

}  // namespace

Findings CheckLossless(const HostFacts& facts) {
  Findings findings;
  for (const RdmaDeviceFacts& device : facts.devices) {
    for (const RdmaPortFacts& port : device.ports) {
      if (!IsRoce(device, port)) continue;
      const NetdevFacts* netdev = facts.NetdevOf(port);
      if (device.soft) {
        findings.push_back({"pfc",
                            PortName(device, port),
                            Level::kNotShown,
                            "a soft device has no queues of its own to keep lossless",
                            {{device.path, "soft"}},
                            ""});
      } else if (netdev != nullptr) {
        findings.push_back(Pfc(*netdev));
        findings.push_back(Ecn(*netdev));
      }
      findings.push_back(TrafficClass(facts, device, port));
    }
  }
  return findings;
}

}  // namespace dunlin::kvctl
