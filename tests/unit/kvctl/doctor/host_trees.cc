#include "tests/unit/kvctl/doctor/host_trees.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace dunlin::kvctl {
namespace {

constexpr char kZeroGid[] = "0000:0000:0000:0000:0000:0000:0000:0000\n";

// Every file name and the form of its contents: Documentation/ABI/stable/sysfs-class-infiniband and
// drivers/infiniband/core/sysfs.c (state, phys_state, rate, gids, gid_attrs, counters) of
// Linux 6.1.
Tree Device(const std::string& name, const std::string& node_type, const std::string& board) {
  const std::string path = "/sys/class/infiniband/" + name;
  return {{path + "/node_type", node_type + "\n"},
          {path + "/node_guid", "b859:9f03:00aa:bbcc\n"},
          {path + "/fw_ver", "20.31.1014\n"},
          {path + "/hca_type", board + "\n"},
          // Documentation/ABI/testing/sysfs-bus-pci
          {path + "/device/numa_node", "0\n"},
          {path + "/device/current_link_speed", "16.0 GT/s PCIe\n"},
          {path + "/device/max_link_speed", "16.0 GT/s PCIe\n"},
          {path + "/device/current_link_width", "16\n"},
          {path + "/device/max_link_width", "16\n"},
          {"/sys/class/infiniband_verbs/uverbs0/ibdev", name + "\n"},
          {"/dev/infiniband/uverbs0", ""},
          {"/dev/infiniband/rdma_cm", ""}};
}

Tree Port(const std::string& device, int number, const std::string& link_layer,
          const std::string& rate) {
  const std::string path = "/sys/class/infiniband/" + device + "/ports/" + std::to_string(number);
  return {{path + "/state", "4: ACTIVE\n"},
          {path + "/phys_state", "5: LinkUp\n"},
          {path + "/link_layer", link_layer + "\n"},
          {path + "/rate", rate + "\n"},
          {path + "/lid", "0x0\n"},
          {path + "/sm_lid", "0x0\n"}};
}

Tree Gid(const std::string& device, int index, const std::string& gid, const std::string& type,
         const std::string& netdev) {
  const std::string port = "/sys/class/infiniband/" + device + "/ports/1";
  const std::string number = std::to_string(index);
  Tree tree = {{port + "/gids/" + number, gid}};
  if (!type.empty()) tree[port + "/gid_attrs/types/" + number] = type + "\n";
  if (!netdev.empty()) tree[port + "/gid_attrs/ndevs/" + number] = netdev + "\n";
  return tree;
}

Tree Zeros(const std::string& folder, const std::vector<std::string>& names) {
  Tree tree;
  for (const std::string& name : names) tree[folder + "/" + name] = "0\n";
  return tree;
}

// drivers/infiniband/core/sysfs.c, PORT_PMA_ATTR
Tree PortCounters(const std::string& port) {
  return Zeros(port + "/counters",
               {"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
                "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors",
                "port_xmit_discards", "port_xmit_constraint_errors", "port_rcv_constraint_errors",
                "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped",
                "port_xmit_wait"}) +
         Tree{{port + "/counters/port_rcv_packets", "123456789\n"}};
}

// drivers/infiniband/hw/mlx5/counters.c
Tree Mlx5HwCounters(const std::string& port) {
  return Zeros(port + "/hw_counters",
               {"out_of_buffer", "out_of_sequence", "duplicate_request", "rnr_nak_retry_err",
                "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err",
                "resp_local_length_error", "req_remote_access_errors", "rp_cnp_ignored",
                "rp_cnp_handled", "np_ecn_marked_roce_packets", "np_cnp_sent", "roce_adp_retrans",
                "roce_adp_retrans_to", "roce_slow_restart", "roce_slow_restart_cnps",
                "roce_slow_restart_trans", "rx_icrc_encapsulated"}) +
         Tree{{port + "/hw_counters/lifespan", "10\n"},
              {port + "/hw_counters/rx_read_requests", "4711\n"}};
}

Tree Netdev(const std::string& name, const std::string& address, int mtu, int megabits) {
  const std::string path = "/sys/class/net/" + name;
  return {{path + "/mtu", std::to_string(mtu) + "\n"},
          {path + "/speed", std::to_string(megabits) + "\n"},
          {path + "/operstate", "up\n"},
          {path + "/address", address + "\n"},
          {path + "/type", "1\n"}};
}

VerbsDevice Verbs(const std::string& name) {
  VerbsDevice device;
  device.name = name;
  device.transport = VerbsTransport::kInfiniBand;
  device.firmware = "20.31.1014";
  device.atomics = VerbsAtomics::kDevice;
  device.max_mr_bytes = ~uint64_t{0};
  device.max_mr = 16777216;
  device.max_qp = 131072;
  device.max_qp_wr = 32768;
  device.max_qp_rd_atom = device.max_qp_init_rd_atom = 16;
  device.max_sge = device.max_sge_rd = 30;
  device.max_cq = 16777216;
  device.max_cqe = 4194303;
  VerbsPort port;
  port.number = 1;
  port.active = true;
  port.max_mtu = port.active_mtu = 4096;
  device.ports = {port};
  return device;
}

LinkAnswers HealthyLink() {
  LinkAnswers link;
  link.fec = "RS";
  link.pfc_enabled = uint8_t{1 << 3};
  ModuleReadings module;
  module.celsius = 45.5;
  module.celsius_warning = 70;
  module.celsius_alarm = 75;
  module.receive_microwatts = {900, 910, 890, 905};
  module.transmit_microwatts = {1000, 1000, 1000, 1000};
  module.receive_low_warning = 120;
  module.receive_low_alarm = 80;
  link.module = module;
  // drivers/net/ethernet/mellanox/mlx5/core/en_stats.c
  link.statistics = std::map<std::string, uint64_t>{
      {"rx_symbol_err_phy", 0}, {"rx_crc_errors_phy", 0}, {"link_down_events_phy", 0},
      {"rx_discards_phy", 0},   {"rx_prio3_pause", 12},   {"rx_packets", 5}};
  return link;
}

}  // namespace

Tree operator+(Tree tree, const Tree& more) {
  for (const auto& [path, contents] : more) tree[path] = contents;
  return tree;
}

Tree operator-(Tree tree, const std::string& path) {
  std::erase_if(tree, [&](const auto& file) {
    return file.first == path || file.first.starts_with(path + "/");
  });
  return tree;
}

Tree PlainHost() {
  return {{"/proc/self/limits",
           "Limit                     Soft Limit           Hard Limit           Units     \n"
           "Max locked memory         unlimited            unlimited            bytes     \n"},
          {"/proc/self/status",
           "Name:\tkvctl\nCapEff:\t0000000000000000\n"
           "Cpus_allowed_list:\t0-15\n"},
          {"/proc/self/mounts",
           "proc /proc proc rw 0 0\n"
           "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=16777216k 0 0\n"},
          {"/proc/meminfo", "MemTotal:       67108864 kB\nMemFree: 1 kB\n"},
          {"/proc/1/cgroup", "0::/init.scope\n"},
          {"/proc/net/snmp", "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 1000 0\n"},
          {"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4200\n"},
          {"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "4000\n"},
          {"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"},
          {"/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n"},
          {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
          {"/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always [never] force\n"},
          {"/sys/devices/system/node/node0/distance", "10 21\n"},
          {"/sys/devices/system/node/node0/cpulist", "0-15\n"},
          {"/sys/devices/system/node/node1/distance", "21 10\n"},
          {"/sys/devices/system/node/node1/cpulist", "16-31\n"}};
}

Tree ConnectxInfiniband() {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  Tree tree = PlainHost() + Device("mlx5_0", "1: CA", "MT4123") +
              Port("mlx5_0", 1, "InfiniBand", "200 Gb/sec (4X HDR)") + PortCounters(port) +
              Mlx5HwCounters(port) + Netdev("ib0", "00:00:10:49:fe:80", 2044, 200000);
  tree = tree + Gid("mlx5_0", 0, "fe80:0000:0000:0000:b859:9f03:00aa:bbcc\n", "IB/RoCE v1", "") +
         Gid("mlx5_0", 1, kZeroGid, "", "");
  return tree + Tree{{port + "/lid", "0x5\n"},
                     {port + "/sm_lid", "0x1\n"},
                     {"/sys/class/net/ib0/type", "32\n"},
                     {"/sys/class/infiniband/mlx5_0/device/net/ib0/dev_port", "0\n"}};
}

Tree ConnectxRoce() {
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1";
  const std::string config = "/sys/kernel/config/rdma_cm/mlx5_0/ports/1";
  const std::string link_local = "fe80:0000:0000:0000:ba59:9fff:feaa:bbcc\n";
  const std::string v4 = "0000:0000:0000:0000:0000:ffff:0a00:0001\n";
  Tree tree = PlainHost() + Device("mlx5_0", "1: CA", "MT4119") +
              Port("mlx5_0", 1, "Ethernet", "100 Gb/sec (4X EDR)") + PortCounters(port) +
              Mlx5HwCounters(port) + Netdev("eth0", "b8:59:9f:aa:bb:cc", 9000, 100000);
  // mlx5 lists each address as RoCEv1 and as RoCEv2.
  tree = tree + Gid("mlx5_0", 0, link_local, "IB/RoCE v1", "eth0") +
         Gid("mlx5_0", 1, link_local, "RoCE v2", "eth0") +
         Gid("mlx5_0", 2, v4, "IB/RoCE v1", "eth0") + Gid("mlx5_0", 3, v4, "RoCE v2", "eth0") +
         Gid("mlx5_0", 4, kZeroGid, "", "");
  // Documentation/ABI/testing/configfs-rdma_cm
  return tree + Tree{{config + "/default_roce_mode", "RoCE v2\n"},
                     {config + "/default_roce_tos", "106\n"},
                     {"/sys/class/infiniband/mlx5_0/device/net/eth0/dev_port", "0\n"},
                     // MLNX_OFED's mlx5 driver only: ecn/roce_{np,rp}/enable/<priority>
                     {"/sys/class/net/eth0/ecn/roce_np/enable/3", "1\n"},
                     {"/sys/class/net/eth0/ecn/roce_rp/enable/3", "1\n"},
                     // drivers/net/ethernet/mellanox/mlx5/core/hwmon.c (Linux 6.6)
                     {"/sys/class/infiniband/mlx5_0/device/hwmon/hwmon2/temp1_input", "52000\n"},
                     {"/sys/class/infiniband/mlx5_0/device/hwmon/hwmon2/temp1_crit", "105000\n"},
                     {"/sys/class/infiniband/mlx5_0/device/hwmon/hwmon2/temp1_label", "asic\n"}};
}

Tree IrdmaIwarp() {
  const std::string port = "/sys/class/infiniband/irdma0/ports/1";
  // drivers/infiniband/hw/irdma/verbs.c (irdma_hw_stat_descs); irdma has no hca_type
  const Tree counters =
      Zeros(port + "/hw_counters",
            {"rxVlanErrors", "ip4InDiscards", "ip4InTruncatedPkts", "ip4OutNoRoutes",
             "ip6InDiscards", "ip6InTruncatedPkts", "ip6OutNoRoutes", "tcpRetransSegs",
             "tcpInOptErrors", "tcpInProtoErrors", "cnpHandled", "cnpIgnored", "cnpSent"}) +
      Tree{{port + "/hw_counters/tcpInSegs", "100\n"},
           {port + "/hw_counters/iwInRdmaWrites", "5\n"}};
  return (PlainHost() + Device("irdma0", "4: RNIC", "") - "/sys/class/infiniband/irdma0/hca_type") +
         Port("irdma0", 1, "Ethernet", "25 Gb/sec (1X EDR)") + counters +
         Netdev("eth1", "b4:96:91:11:22:33", 9000, 25000) +
         // An iWARP port's GID is its interface's address; it has no type and no netdev.
         Gid("irdma0", 0, "b496:9111:2233:0000:0000:0000:0000:0000\n", "IB/RoCE v1", "");
}

Tree Cxgb4Iwarp() {
  const std::string device = "/sys/class/infiniband/cxgb4_0";
  // drivers/infiniband/hw/cxgb4/provider.c: counters of the device, not of a port
  const Tree counters =
      Zeros(device + "/hw_counters", {"ip4InSegs", "ip4OutSegs", "ip4RetransSegs", "ip4OutRsts",
                                      "ip6InSegs", "ip6OutSegs", "ip6RetransSegs", "ip6OutRsts"});
  return PlainHost() + Device("cxgb4_0", "4: RNIC", "cxgb4") +
         Port("cxgb4_0", 1, "Ethernet", "100 Gb/sec (4X EDR)") +
         Port("cxgb4_0", 2, "Ethernet", "100 Gb/sec (4X EDR)") + counters +
         Netdev("eth2", "00:07:43:11:22:33", 1500, 100000) +
         Netdev("eth3", "00:07:43:11:22:34", 9000, 100000) +
         Tree{{device + "/device/net/eth2/dev_port", "0\n"},
              {device + "/device/net/eth3/dev_port", "1\n"}};
}

FakeCalls ConnectxInfinibandCalls() {
  FakeCalls calls;
  calls.devices = std::vector<VerbsDevice>{Verbs("mlx5_0")};
  calls.addresses = {{"ib0", "192.168.7.1"}, {"lo", "127.0.0.1"}};
  return calls;
}

FakeCalls ConnectxRoceCalls() {
  FakeCalls calls;
  calls.devices = std::vector<VerbsDevice>{Verbs("mlx5_0")};
  calls.addresses = {{"eth0", "10.0.0.1"}};
  calls.links["eth0"] = HealthyLink();
  return calls;
}

FakeCalls IrdmaIwarpCalls() {
  FakeCalls calls;
  VerbsDevice device = Verbs("irdma0");
  device.transport = VerbsTransport::kIwarp;
  device.atomics = VerbsAtomics::kNone;
  calls.devices = std::vector<VerbsDevice>{device};
  calls.addresses = {{"eth1", "10.0.1.1"}};
  calls.links["eth1"] = HealthyLink();
  return calls;
}

bool MapTree::Exists(const std::string& path) const {
  const auto at = tree_.lower_bound(path);
  return at != tree_.end() && (at->first == path || !Names(path).empty());
}

std::optional<std::string> MapTree::Text(const std::string& path) const {
  const auto found = tree_.find(path);
  if (found == tree_.end()) return std::nullopt;
  return std::string(Trimmed(found->second));
}

std::vector<std::string> MapTree::Names(const std::string& folder) const {
  std::set<std::string> names;
  const std::string prefix = folder + "/";
  for (auto at = tree_.lower_bound(prefix); at != tree_.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    names.insert(
        at->first.substr(prefix.size(), at->first.find('/', prefix.size()) - prefix.size()));
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), NameBefore);
  return sorted;
}

WrittenTree::WrittenTree(const Tree& tree) {
  for (const auto& [path, contents] : tree) {
    const std::filesystem::path file = root() + path;
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    if (!(std::ofstream(file) << contents)) ADD_FAILURE() << "can't write " << file;
  }
}

HostFacts FactsOf(const Tree& tree, FakeCalls calls) {
  return ReadHostFacts(MapTree(tree), &calls);
}

HostFacts FactsOfFiles(const Tree& tree) { return ReadHostFacts(MapTree(tree), nullptr); }

Finding Only(const Findings& findings, const std::string& check) {
  Finding found;
  int count = 0;
  for (const Finding& finding : findings) {
    if (finding.check != check) continue;
    found = finding;
    ++count;
  }
  EXPECT_EQ(count, 1) << check;
  return count == 1 ? found : Finding();
}

std::string EvidenceOf(const Finding& finding) {
  std::string text;
  for (const Evidence& evidence : finding.evidence) {
    text += evidence.source + " = " + evidence.value + "\n";
  }
  return text;
}

}  // namespace dunlin::kvctl
