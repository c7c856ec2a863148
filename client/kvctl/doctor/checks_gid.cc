#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/kvctl/doctor/checks.h"
#include "client/kvctl/doctor/gid_choice.h"

namespace dunlin::kvctl {
namespace {

std::string NameOrPort(const RdmaPortFacts& port) {
  return port.netdev.empty() ? "the port's interface" : port.netdev;
}

Finding RoceGids(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  Finding finding{"gid", PortName(device, port), Level::kOk, "", {}, ""};
  const std::vector<RankedGid> ranked = RankGids(port.gids);
  for (const RankedGid& each : ranked) {
    finding.evidence.push_back({absl::StrCat(port.path, "/gids/", each.gid.index),
                                absl::StrCat(each.address, ", ", Shown(each.gid.type), ", ",
                                             Shown(each.gid.netdev), ": ", each.why)});
  }
  if (port.empty_gids > 0) {
    finding.evidence.push_back(
        {port.path + "/gids", absl::StrCat(port.empty_gids, " entries all zero: never chosen")});
  }
  const GidRank best = ranked.empty() ? GidRank::kUseless : ranked.front().rank;
  if (best == GidRank::kRoutableV4 || best == GidRank::kRoutableV6) {
    finding.text = absl::StrCat(
        "rdma_cm takes the entry of the local address that routes to the "
        "peer; the best here is ",
        ranked.front().gid.index, ", ", ranked.front().address);
    return finding;
  }
  finding.level = IsActive(port) ? Level::kProblem : Level::kWarning;
  finding.text = best == GidRank::kLinkLocalV2
                     ? "only link-local entries: no other host is reached "
                       "by an address of its own"
                 : best == GidRank::kVersion1 ? "only RoCEv1 entries, which are not routed"
                                              : "no usable entry";
  finding.remedy = absl::StrCat("ip addr add ADDRESS/PREFIX dev ", NameOrPort(port),
                                " (the driver makes a RoCEv2 entry of each address)");
  return finding;
}

Finding RoceMode(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  const std::string folder = absl::StrCat("/sys/kernel/config/rdma_cm/", device.name);
  const std::string path = absl::StrCat(folder, "/ports/", port.number, "/default_roce_mode");
  Finding finding{"roce-mode", PortName(device, port), Level::kOk, "", {}, ""};
  finding.evidence.push_back({path, Shown(port.cm_roce_mode)});
  if (port.cm_roce_mode.empty()) {
    finding.level = Level::kNotShown;
    finding.text = "rdma_cm's default RoCE version shows only once its configfs folder is made";
    finding.remedy = absl::StrCat("to see it: mkdir ", folder);
  } else if (port.cm_roce_mode != "RoCE v2") {
    finding.level = Level::kWarning;
    finding.text = "rdma_cm connects with RoCEv1 from here: not routed, no ECN";
    finding.remedy = absl::StrCat("echo \"RoCE v2\" > ", path, "; the same on the other end");
  } else {
    finding.text = "rdma_cm connects with RoCEv2 from here";
  }
  return finding;
}

Finding InfinibandGids(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  Finding finding{"gid", PortName(device, port), Level::kOk, "", {}, ""};
  for (const GidFacts& gid : port.gids) {
    finding.evidence.push_back({absl::StrCat(port.path, "/gids/", gid.index),
                                absl::StrCat(gid.gid, ", ", Shown(gid.type))});
  }
  if (port.gids.empty()) {
    finding.level = Level::kProblem;
    finding.text = "the port has no GID";
    finding.evidence.push_back({port.path + "/gids", "all zero"});
    finding.remedy = "see the finding \"subnet-manager\"";
  } else {
    finding.text = "entry 0 is the port's own; on InfiniBand it needs no address";
  }
  return finding;
}

Finding IwarpGids(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  Finding finding{"gid", PortName(device, port), Level::kOk, "", {}, ""};
  finding.text = "iWARP runs over TCP: connections go by IP address, the GID is only a name";
  for (const GidFacts& gid : port.gids) {
    finding.evidence.push_back({absl::StrCat(port.path, "/gids/", gid.index),
                                absl::StrCat(gid.gid, ", the interface's hardware address")});
  }
  return finding;
}

std::string NoAddressRemedy(const RdmaPortFacts& port) {
  return absl::StrCat("ip addr add ADDRESS/PREFIX dev ", NameOrPort(port), "; ip link set ",
                      NameOrPort(port), " up");
}

// rdma_cm resolves IP addresses, on InfiniBand and iWARP too, so the port needs an interface that
// has one. (For RoCE the GID table itself tells of addresses.)
Finding Address(const HostFacts& facts, const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  Finding finding{"address", PortName(device, port), Level::kOk, "", {}, ""};
  const NetdevFacts* netdev = facts.NetdevOf(port);
  if (netdev == nullptr) {
    finding.level = IsActive(port) ? Level::kProblem : Level::kWarning;
    finding.text = "no network interface was found for this port, and rdma_cm connects by address";
    finding.evidence.push_back({device.path + "/device/net", "no interface of this port"});
    finding.remedy = IsInfiniband(device, port) ? "modprobe ib_ipoib, then give ib0 an address"
                                                : "load the adapter's Ethernet driver too";
    return finding;
  }
  if (!facts.called) {
    finding.level = Level::kNotShown;
    finding.text = absl::StrCat("the port's interface is ", netdev->name);
    finding.evidence.push_back({netdev->path, "there; addresses are in no file"});
    return finding;
  }
  finding.evidence.push_back({absl::StrCat("addresses of ", netdev->name),
                              netdev->ips.empty() ? "none" : absl::StrJoin(netdev->ips, ", ")});
  const bool routable =
      std::any_of(netdev->ips.begin(), netdev->ips.end(), [](const std::string& ip) {
        return !ip.starts_with("fe80:") && !ip.starts_with("169.254.");
      });
  if (routable) {
    finding.text = absl::StrCat("connections go by the addresses of ", netdev->name);
  } else {
    finding.level = IsActive(port) ? Level::kProblem : Level::kWarning;
    finding.text = absl::StrCat(netdev->name, " has no address by which others reach this port");
    finding.remedy = NoAddressRemedy(port);
  }
  return finding;
}

}  // namespace

Findings CheckGids(const HostFacts& facts) {
  Findings findings;
  for (const RdmaDeviceFacts& device : facts.devices) {
    for (const RdmaPortFacts& port : device.ports) {
      if (IsRoce(device, port)) {
        findings.push_back(RoceGids(device, port));
        findings.push_back(RoceMode(device, port));
        continue;
      }
      findings.push_back(device.iwarp ? IwarpGids(device, port) : InfinibandGids(device, port));
      findings.push_back(Address(facts, device, port));
    }
  }
  return findings;
}

}  // namespace dunlin::kvctl
