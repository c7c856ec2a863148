#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/checks.h"

namespace dunlin::kvctl {
namespace {

bool AnyActive(const HostFacts& facts) {
  for (const RdmaDeviceFacts& device : facts.devices) {
    for (const RdmaPortFacts& port : device.ports) {
      if (IsActive(port)) return true;
    }
  }
  return false;
}

std::string RemedyForState(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  if (IsInfiniband(device, port) && port.physical_state.find("LinkUp") != std::string::npos) {
    return "the link is there, but no subnet manager has brought the port up: start opensm, or the "
           "switch's";
  }
  if (port.physical_state.find("Disabled") != std::string::npos) {
    return port.netdev.empty()
               ? "the port is switched off: enable it (ibportstate, or the interface of its device)"
               : absl::StrCat("the port is switched off: ip link set ", port.netdev, " up");
  }
  return "no signal from the other end: cable, module, the switch's port and its speed; then the "
         "FEC mode on both ends";
}

Finding State(const HostFacts& facts, const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  Finding finding{"port-state", PortName(device, port), Level::kOk, "", {}, ""};
  finding.evidence = {{port.path + "/state", Shown(port.state)},
                      {port.path + "/phys_state", Shown(port.physical_state)},
                      {port.path + "/link_layer", Shown(port.link_layer)},
                      {port.path + "/rate", Shown(port.rate)}};
  if (const NetdevFacts* netdev = facts.NetdevOf(port)) {
    finding.evidence.push_back({netdev->path + "/operstate", Shown(netdev->state)});
  }
  if (IsActive(port)) {
    finding.text = absl::StrCat("active, ", Shown(port.rate));
    return finding;
  }
  // Of an adapter with two ports often one has no cable, and that is meant.
  finding.level = AnyActive(facts) ? Level::kWarning : Level::kProblem;
  finding.text = absl::StrCat("not active: ", Shown(port.state));
  finding.remedy = RemedyForState(device, port);
  return finding;
}

Findings SubnetManager(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  if (!IsInfiniband(device, port)) return {};
  Finding finding{"subnet-manager", PortName(device, port), Level::kOk, "", {}, ""};
  finding.evidence = {{port.path + "/lid", Shown(port.lid)},
                      {port.path + "/sm_lid", Shown(port.sm_lid)}};
  const bool none = port.sm_lid.empty() || port.sm_lid == "0" || port.sm_lid == "0x0";
  const bool unset = port.lid.empty() || port.lid == "0" || port.lid == "0x0";
  if (none || unset || port.lid == "0xffff") {
    finding.level = Level::kProblem;
    finding.text = "the port has no local identifier from a subnet manager";
    finding.remedy = "start one on the fabric: systemctl start opensm, or the switch's own";
  } else {
    finding.text = "a subnet manager has configured the port";
  }
  return {finding};
}

Findings PcieLink(const RdmaDeviceFacts& device) {
  const PcieFacts& pcie = device.pcie;
  if (device.soft) return {};
  Finding finding{"pcie-link", device.name, Level::kOk, "", {}, ""};
  if (pcie.current_speed.empty() || pcie.max_speed.empty()) {
    finding.level = Level::kNotShown;
    finding.text = "the width and speed of the bus are not shown";
    finding.evidence.push_back({device.path + "/device/current_link_speed", "(not shown)"});
    return {finding};
  }
  finding.evidence = {{device.path + "/device/current_link_speed",
                       absl::StrCat(pcie.current_speed, " of ", pcie.max_speed)},
                      {device.path + "/device/current_link_width",
                       absl::StrCat("x", pcie.current_width, " of x", pcie.max_width)}};
  if (pcie.current_speed == pcie.max_speed && pcie.current_width == pcie.max_width) {
    finding.text = "the bus runs at the adapter's full width and speed";
  } else {
    finding.level = Level::kWarning;
    finding.text = "the bus runs below what the adapter can do";
    finding.remedy =
        "reseat it, or move it to a slot of full width and generation; see the BIOS's settings";
  }
  return {finding};
}

void Append(Findings more, Findings* findings) {
  for (Finding& finding : more) findings->push_back(std::move(finding));
}

}  // namespace

Findings CheckPorts(const HostFacts& facts) {
  Findings findings;
  for (const RdmaDeviceFacts& device : facts.devices) {
    for (const RdmaPortFacts& port : device.ports) {
      findings.push_back(State(facts, device, port));
      Append(SubnetManager(device, port), &findings);
    }
    Append(PcieLink(device), &findings);
  }
  return findings;
}

}  // namespace dunlin::kvctl
