#pragma once

#include <string>
#include <vector>

#include "client/kvctl/doctor/finding.h"
#include "client/kvctl/doctor/host_facts.h"

// The doctor's questions: pure functions from facts to findings. Every question about a device is
// answered for every device, also with "ok".

namespace dunlin::kvctl {

// Everything, in the order in which it is worth reading. `before` is an earlier look at the same
// host, so that counters can be told to rise; null if there was only one look.
Findings CheckHost(const HostFacts& now, const HostFacts* before);

// rdma-devices, device-files, provider, container.
Findings CheckAccess(const HostFacts& facts);
// port-state, subnet-manager, pcie-link.
Findings CheckPorts(const HostFacts& facts);
// gid, roce-mode, address.
Findings CheckGids(const HostFacts& facts);
// mtu.
Findings CheckMtu(const HostFacts& facts);
// memlock, capabilities, huge-pages, shm, numa.
Findings CheckMemory(const HostFacts& facts);
// limits, atomics.
Findings CheckLimits(const HostFacts& facts);
// pfc, ecn, traffic-class.
Findings CheckLossless(const HostFacts& facts);
// loss, congestion, retransmissions, connecting.
Findings CheckCounters(const HostFacts& now, const HostFacts* before);
// errors-on-the-wire, fec, module.
Findings CheckPhysical(const HostFacts& now, const HostFacts* before);

inline std::string PortName(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  return device.name + " port " + std::to_string(port.number);
}
inline bool IsActive(const RdmaPortFacts& port) {
  return port.state.find("ACTIVE") != std::string::npos &&
         port.state.find("DEFER") == std::string::npos;
}
// An Ethernet port whose traffic is InfiniBand's: RoCE.
inline bool IsRoce(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  return !device.iwarp && port.link_layer == "Ethernet";
}
inline bool IsInfiniband(const RdmaDeviceFacts& device, const RdmaPortFacts& port) {
  return !device.iwarp && port.link_layer == "InfiniBand";
}
// What a file held, for people, if it held nothing.
inline std::string Shown(const std::string& value) { return value.empty() ? "(not shown)" : value; }

}  // namespace dunlin::kvctl
