#include "client/kvctl/doctor/host_facts.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace dunlin::kvctl {
namespace {

TcpFacts ReadTcp(const FileTree& tree) {
  // Two lines "Tcp: ...", the names and then the values.
  TcpFacts tcp;
  std::vector<std::string> names;
  for (const std::string& line : Lines(tree.Text("/proc/net/snmp").value_or(""))) {
    const std::vector<std::string> words = Words(line);
    if (words.empty() || words[0] != "Tcp:") continue;
    if (names.empty()) {
      names = words;
      continue;
    }
    for (size_t i = 1; i < words.size() && i < names.size(); ++i) {
      if (names[i] == "OutSegs") tcp.sent = ParseNumber(words[i]);
      if (names[i] == "RetransSegs") tcp.retransmitted = ParseNumber(words[i]);
    }
  }
  return tcp;
}

void ReadNetdevs(const FileTree& tree, HostFacts* facts) {
  for (const RdmaDeviceFacts& device : facts->devices) {
    for (const RdmaPortFacts& port : device.ports) {
      if (port.netdev.empty() || facts->netdevs.contains(port.netdev)) continue;
      facts->netdevs[port.netdev] = ReadNetdev(tree, port.netdev);
    }
  }
}

void ReadDeviceFiles(const FileTree& tree, HostCalls* calls, HostFacts* facts) {
  std::vector<std::string> names = {"rdma_cm"};
  for (const RdmaDeviceFacts& device : facts->devices) {
    if (!device.uverbs.empty()) names.push_back(device.uverbs);
  }
  for (const std::string& name : names) {
    DeviceFileFacts file;
    file.path = "/dev/infiniband/" + name;
    file.exists = tree.Exists(file.path);
    if (file.exists && calls != nullptr) file.open_error = calls->OpenError(file.path);
    facts->device_files[name] = file;
  }
}

void Call(HostCalls& calls, HostFacts* facts) {
  facts->verbs = calls.Devices();
  facts->memory.shm_space = calls.Space("/dev/shm");
  const auto addresses = calls.Addresses();
  for (auto& [name, netdev] : facts->netdevs) {
    netdev.link = calls.AskLink(name);
    if (!addresses.ok()) continue;
    const auto [begin, end] = addresses->equal_range(name);
    for (auto at = begin; at != end; ++at) netdev.ips.push_back(at->second);
  }
}

}  // namespace

const VerbsDevice* HostFacts::VerbsOf(const std::string& device) const {
  if (!verbs.ok()) return nullptr;
  for (const VerbsDevice& each : *verbs) {
    if (each.name == device) return &each;
  }
  return nullptr;
}

const NetdevFacts* HostFacts::NetdevOf(const RdmaPortFacts& port) const {
  const auto found = netdevs.find(port.netdev);
  return found == netdevs.end() ? nullptr : &found->second;
}

HostFacts ReadHostFacts(const FileTree& tree, HostCalls* calls) {
  HostFacts facts;
  facts.called = calls != nullptr;
  facts.devices = ReadRdmaDevices(tree);
  ReadNetdevs(tree, &facts);
  ReadDeviceFiles(tree, calls, &facts);
  facts.process = ReadProcess(tree);
  facts.memory = ReadMemory(tree);
  facts.tcp = ReadTcp(tree);
  facts.adapters = ReadAdapters(tree);
  facts.netns_mode = tree.Text(kNetnsMode).value_or("");
  facts.container_signs = ReadContainerSigns(tree);
  if (calls != nullptr) Call(*calls, &facts);
  return facts;
}

}  // namespace dunlin::kvctl
