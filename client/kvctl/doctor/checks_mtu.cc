#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/checks.h"

namespace dunlin::kvctl {
namespace {

constexpr uint32_t kMtus[] = {4096, 2048, 1024, 512, 256};
// What the kernel (iboe_get_mtu) reserves around a packet's payload in the interface's MTU: IPv6
// 40, UDP 8, BTH 12, XRC 4, the longest extended header 28, ICRC 4.
constexpr uint32_t kRoceHeaders = 96;
// The least that a WRITE over IPv4 takes: 20, UDP 8, BTH 12, RETH 16, ICRC 4.
constexpr uint32_t kLeastHeaders = 60;

// The RDMA MTU that fits into an interface's.
uint32_t RoceMtu(uint64_t netdev_mtu) {
  for (const uint32_t mtu : kMtus) {
    if (mtu + kRoceHeaders <= netdev_mtu) return mtu;
  }
  return 0;
}

struct PortMtu {
  uint32_t active = 0, max = 0;
};

std::optional<PortMtu> AskedMtu(const HostFacts& facts, const RdmaDeviceFacts& device,
                                const RdmaPortFacts& port) {
  const VerbsDevice* verbs = facts.VerbsOf(device.name);
  if (verbs == nullptr) return std::nullopt;
  for (const VerbsPort& each : verbs->ports) {
    if (each.number == port.number) return PortMtu{each.active_mtu, each.max_mtu};
  }
  return std::nullopt;
}

void AddEvidence(const RdmaDeviceFacts& device, const NetdevFacts* netdev,
                 const std::optional<PortMtu>& asked, Finding* finding) {
  const std::string source = "ibv_query_port(" + device.name + ")";
  finding->evidence.push_back(
      {source,
       asked ? absl::StrCat("active_mtu ", asked->active, ", max_mtu ", asked->max) : "not asked"});
  if (netdev == nullptr) return;
  finding->evidence.push_back(
      {netdev->path + "/mtu", netdev->mtu ? absl::StrCat(*netdev->mtu) : "(not shown)"});
}

std::string LargerMtu(const NetdevFacts& netdev) {
  return absl::StrCat(
      "ip link set ", netdev.name,
      " mtu 9000, on both ends and on every switch between; the smaller end counts");
}

void JudgeRoce(const NetdevFacts* netdev, const std::optional<PortMtu>& asked, Finding* finding) {
  if (netdev == nullptr || !netdev->mtu) {
    finding->level = Level::kNotShown;
    finding->text = "the interface's MTU is not shown";
    return;
  }
  const uint32_t fits = RoceMtu(*netdev->mtu);
  if (fits == 0 || (asked && asked->active + kLeastHeaders > *netdev->mtu)) {
    finding->level = Level::kProblem;
    finding->text = absl::StrCat("packets don't fit: the interface takes ", *netdev->mtu, " bytes");
    finding->remedy = LargerMtu(*netdev);
  } else if (asked && asked->active < fits && asked->active < asked->max) {
    finding->level = Level::kWarning;
    finding->text = absl::StrCat("RDMA uses ", asked->active, " bytes, but the interface takes ",
                                 fits, ": it was changed, and the port does not follow");
    finding->remedy = absl::StrCat("ip link set ", netdev->name, " down, then up");
  } else if (fits < kMtus[0]) {
    finding->level = Level::kWarning;
    finding->text = absl::StrCat("RDMA packets carry ", fits, " bytes, of 4096 possible");
    finding->remedy = LargerMtu(*netdev);
  } else {
    finding->text = absl::StrCat("RDMA packets carry ", asked ? asked->active : fits, " bytes");
  }
}

void JudgeInfiniband(const std::optional<PortMtu>& asked, Finding* finding) {
  if (!asked) {
    finding->level = Level::kNotShown;
    finding->text = "the port's MTU shows only through libibverbs";
  } else if (asked->active < asked->max) {
    finding->level = Level::kWarning;
    finding->text = absl::StrCat("packets carry ", asked->active, " bytes, of ", asked->max,
                                 " that the port can");
    finding->remedy = "the subnet manager or the switch limits it: see its partitions' mtu";
  } else {
    finding->text = absl::StrCat("packets carry ", asked->active, " bytes");
  }
}

void JudgeIwarp(const NetdevFacts* netdev, Finding* finding) {
  constexpr uint64_t kJumbo = 4096;
  if (netdev == nullptr || !netdev->mtu) {
    finding->level = Level::kNotShown;
    finding->text = "the interface's MTU is not shown";
    return;
  }
  finding->text = absl::StrCat("TCP segments fit into ", *netdev->mtu, " bytes");
  if (*netdev->mtu >= kJumbo) return;
  absl::StrAppend(&finding->text, "; larger ones pay for large values only");
  finding->remedy = LargerMtu(*netdev);
}

}  // namespace

Findings CheckMtu(const HostFacts& facts) {
  Findings findings;
  for (const RdmaDeviceFacts& device : facts.devices) {
    for (const RdmaPortFacts& port : device.ports) {
      Finding finding{"mtu", PortName(device, port), Level::kOk, "", {}, ""};
      const NetdevFacts* netdev = facts.NetdevOf(port);
      const std::optional<PortMtu> asked = AskedMtu(facts, device, port);
      AddEvidence(device, netdev, asked, &finding);
      if (device.iwarp) {
        JudgeIwarp(netdev, &finding);
      } else if (IsRoce(device, port)) {
        JudgeRoce(netdev, asked, &finding);
      } else {
        JudgeInfiniband(asked, &finding);
      }
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace dunlin::kvctl
