#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/host_facts.h"

namespace dunlin::kvctl {
namespace {

constexpr char kClass[] = "/sys/class/infiniband";
constexpr char kNet[] = "/sys/class/net";
constexpr char kCmConfig[] = "/sys/kernel/config/rdma_cm";
constexpr std::string_view kEmptyGid = "0000:0000:0000:0000:0000:0000:0000:0000";

std::string TextOf(const FileTree& tree, const std::string& path) {
  return tree.Text(path).value_or("");
}

void ReadGids(const FileTree& tree, RdmaPortFacts* port) {
  for (const std::string& index : tree.Names(port->path + "/gids")) {
    GidFacts gid;
    gid.index = static_cast<uint32_t>(ParseNumber(index).value_or(0));
    gid.gid = TextOf(tree, port->path + "/gids/" + index);
    if (gid.gid.empty() || gid.gid == kEmptyGid) {
      ++port->empty_gids;
      continue;
    }
    gid.type = TextOf(tree, port->path + "/gid_attrs/types/" + index);
    gid.netdev = TextOf(tree, port->path + "/gid_attrs/ndevs/" + index);
    port->gids.push_back(std::move(gid));
  }
}

// An iWARP port's first GID begins with the interface's hardware address.
std::string NetdevByAddress(const FileTree& tree, const RdmaPortFacts& port) {
  if (port.gids.empty()) return "";
  std::string address;
  for (const char c : port.gids.front().gid) {
    if (c == ':') continue;
    if (address.size() % 3 == 2) address.push_back(':');
    address.push_back(c);
    if (address.size() == 17) break;
  }
  for (const std::string& name : tree.Names(kNet)) {
    if (TextOf(tree, absl::StrCat(kNet, "/", name, "/address")) == address) return name;
  }
  return "";
}

// The interface of this port, on a device whose interfaces are told apart by dev_port.
std::string NetdevOfFunction(const FileTree& tree, const std::string& device, uint32_t port) {
  const std::vector<std::string> names = tree.Names(device + "/device/net");
  for (const std::string& name : names) {
    const auto index = tree.Number(absl::StrCat(device, "/device/net/", name, "/dev_port"));
    if (index && *index + 1 == port) return name;
  }
  return names.size() == 1 ? names.front() : "";
}

std::string FindNetdev(const FileTree& tree, const RdmaDeviceFacts& device,
                       const RdmaPortFacts& port) {
  for (const GidFacts& gid : port.gids) {
    if (!gid.netdev.empty()) return gid.netdev;
  }
  std::string name = NetdevOfFunction(tree, device.path, port.number);
  if (name.empty()) name = TextOf(tree, device.path + "/parent");  // rxe
  if (name.empty() && device.iwarp) name = NetdevByAddress(tree, port);
  return name;
}

void ReadTrafficClass(const FileTree& tree, const RdmaDeviceFacts& device, RdmaPortFacts* port) {
  const std::string config = absl::StrCat(kCmConfig, "/", device.name, "/ports/", port->number);
  port->cm_roce_mode = TextOf(tree, config + "/default_roce_mode");
  port->cm_roce_tos = TextOf(tree, config + "/default_roce_tos");
  port->traffic_class_path = absl::StrCat(device.path, "/tc/", port->number, "/traffic_class");
  port->traffic_class = TextOf(tree, port->traffic_class_path);
}

RdmaPortFacts ReadPort(const FileTree& tree, const RdmaDeviceFacts& device,
                       const std::string& number) {
  RdmaPortFacts port;
  port.path = device.path + "/ports/" + number;
  port.number = static_cast<uint32_t>(ParseNumber(number).value_or(0));
  port.state = TextOf(tree, port.path + "/state");
  port.physical_state = TextOf(tree, port.path + "/phys_state");
  port.link_layer = TextOf(tree, port.path + "/link_layer");
  port.rate = TextOf(tree, port.path + "/rate");
  port.lid = TextOf(tree, port.path + "/lid");
  port.sm_lid = TextOf(tree, port.path + "/sm_lid");
  ReadGids(tree, &port);
  port.counters = tree.Numbers(port.path + "/counters");
  port.hw_counters = tree.Numbers(port.path + "/hw_counters");
  port.cm_retries = tree.Numbers(port.path + "/cm_tx_retries");
  port.netdev = FindNetdev(tree, device, port);
  ReadTrafficClass(tree, device, &port);
  return port;
}

// Sensors of the adapter and of its modules, where its driver has them (mlx5 from Linux 6.6).
std::vector<SensorFacts> ReadSensors(const FileTree& tree, const std::string& device) {
  std::vector<SensorFacts> sensors;
  const std::string folder = device + "/device/hwmon";
  for (const std::string& monitor : tree.Names(folder)) {
    for (const std::string& file : tree.Names(folder + "/" + monitor)) {
      const bool input = file.starts_with("temp") && file.ends_with("_input");
      if (!input) continue;
      SensorFacts sensor;
      sensor.path = absl::StrCat(folder, "/", monitor, "/", file);
      const std::string stem = sensor.path.substr(0, sensor.path.size() - 5);  // without "input"
      sensor.label = TextOf(tree, stem + "label");
      if (const auto value = tree.Number(sensor.path)) sensor.celsius = *value / 1000.0;
      auto limit = tree.Number(stem + "crit");
      if (!limit) limit = tree.Number(stem + "max");
      if (limit && *limit > 0) sensor.limit = *limit / 1000.0;
      sensors.push_back(std::move(sensor));
    }
  }
  return sensors;
}

PcieFacts ReadPcie(const FileTree& tree, const std::string& device) {
  return {TextOf(tree, device + "/device/current_link_speed"),
          TextOf(tree, device + "/device/max_link_speed"),
          TextOf(tree, device + "/device/current_link_width"),
          TextOf(tree, device + "/device/max_link_width")};
}

std::string FindUverbs(const FileTree& tree, const std::string& device) {
  constexpr char kVerbs[] = "/sys/class/infiniband_verbs";
  for (const std::string& name : tree.Names(kVerbs)) {
    if (TextOf(tree, absl::StrCat(kVerbs, "/", name, "/ibdev")) == device) return name;
  }
  return "";
}

// rxe names its interface in "parent". siw may stand on the bus device of its interface, but has
// neither a board nor counters. Without a bus device there is no adapter.
bool IsSoft(const FileTree& tree, const RdmaDeviceFacts& device) {
  if (tree.Exists(device.path + "/parent") || !tree.Exists(device.path + "/device")) return true;
  const bool counts =
      std::any_of(device.ports.begin(), device.ports.end(),
                  [](const RdmaPortFacts& port) { return !port.hw_counters.empty(); });
  return device.iwarp && device.board.empty() && device.hw_counters.empty() && !counts;
}

RdmaDeviceFacts ReadDevice(const FileTree& tree, const std::string& name) {
  RdmaDeviceFacts device;
  device.name = name;
  device.path = absl::StrCat(kClass, "/", name);
  device.node_type = TextOf(tree, device.path + "/node_type");
  device.firmware = TextOf(tree, device.path + "/fw_ver");
  device.board = TextOf(tree, device.path + "/hca_type");
  device.iwarp = device.node_type.find("RNIC") != std::string::npos;
  device.uverbs = FindUverbs(tree, name);
  if (const auto node = tree.Text(device.path + "/device/numa_node")) {
    device.numa_node = std::atoi(node->c_str());
  }
  device.pcie = ReadPcie(tree, device.path);
  device.sensors = ReadSensors(tree, device.path);
  device.hw_counters = tree.Numbers(device.path + "/hw_counters");
  for (const std::string& number : tree.Names(device.path + "/ports")) {
    device.ports.push_back(ReadPort(tree, device, number));
  }
  device.soft = IsSoft(tree, device);
  return device;
}

}  // namespace

std::vector<RdmaDeviceFacts> ReadRdmaDevices(const FileTree& tree) {
  std::vector<RdmaDeviceFacts> devices;
  for (const std::string& name : tree.Names(kClass)) devices.push_back(ReadDevice(tree, name));
  return devices;
}

NetdevFacts ReadNetdev(const FileTree& tree, const std::string& name) {
  constexpr uint64_t kInfinibandHardware = 32;  // ARPHRD_INFINIBAND
  NetdevFacts netdev;
  netdev.name = name;
  netdev.path = absl::StrCat(kNet, "/", name);
  netdev.mtu = tree.Number(netdev.path + "/mtu");
  netdev.megabits = tree.Number(netdev.path + "/speed");
  netdev.state = TextOf(tree, netdev.path + "/operstate");
  netdev.address = TextOf(tree, netdev.path + "/address");
  netdev.ipoib = tree.Number(netdev.path + "/type") == kInfinibandHardware;
  netdev.ecn_np = tree.Numbers(netdev.path + "/ecn/roce_np/enable");
  netdev.ecn_rp = tree.Numbers(netdev.path + "/ecn/roce_rp/enable");
  return netdev;
}

std::vector<AdapterFacts> ReadAdapters(const FileTree& tree) {
  constexpr std::string_view kDriver = "DRIVER=";
  std::vector<AdapterFacts> adapters;
  for (const std::string& name : tree.Names(kNet)) {
    AdapterFacts adapter;
    adapter.netdev = name;
    adapter.path = absl::StrCat(kNet, "/", name, "/device/uevent");
    for (const std::string& line : Lines(TextOf(tree, adapter.path))) {
      if (std::string_view(line).starts_with(kDriver)) adapter.driver = line.substr(kDriver.size());
    }
    if (!adapter.driver.empty()) adapters.push_back(std::move(adapter));
  }
  return adapters;
}

}  // namespace dunlin::kvctl
