#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/kvctl/doctor/file_tree.h"
#include "client/kvctl/doctor/host_calls.h"

// What is known of a host, as read: nothing is judged here. An optional without a value, or an
// empty text, was not shown. Every struct that stems from a folder has its `path`, so that checks
// can name their evidence.

namespace dunlin::kvctl {

struct GidFacts {
  uint32_t index = 0;
  std::string gid;   // "0000:0000:0000:0000:0000:ffff:0a01:0001"
  std::string type;  // "IB/RoCE v1", "RoCE v2"
  std::string netdev;
};

struct RdmaPortFacts {
  std::string path;  // "/sys/class/infiniband/mlx5_0/ports/1"
  uint32_t number = 0;
  std::string state, physical_state;  // "4: ACTIVE", "5: LinkUp"
  std::string link_layer, rate;
  std::string lid, sm_lid;
  std::vector<GidFacts> gids;  // without the empty ones
  uint32_t empty_gids = 0;
  std::map<std::string, uint64_t> counters, hw_counters, cm_retries;
  std::string netdev;  // the interface that carries it; empty: not found
  // rdma_cm's defaults (configfs; there only after somebody made the device's folder) and mlx5's.
  std::string cm_roce_mode, cm_roce_tos, traffic_class;
  std::string traffic_class_path;
};

struct PcieFacts {
  std::string current_speed, max_speed, current_width, max_width;
};

struct SensorFacts {
  std::string path;  // ".../temp1_input"
  std::string label;
  std::optional<double> celsius, limit;
};

struct RdmaDeviceFacts {
  std::string name, path;
  std::string node_type, firmware, board;
  bool iwarp = false;
  bool soft = false;   // rxe or siw: the processor does the work
  std::string uverbs;  // "uverbs0"
  std::optional<int> numa_node;
  PcieFacts pcie;
  std::vector<SensorFacts> sensors;
  std::map<std::string, uint64_t> hw_counters;  // of the device as a whole
  std::vector<RdmaPortFacts> ports;
};

struct NetdevFacts {
  std::string name, path;
  std::optional<uint64_t> mtu, megabits;
  std::string state, address;
  bool ipoib = false;
  std::vector<std::string> ips;
  // MLNX_OFED's ECN switches: priority -> enabled, for the notification and the reaction point.
  std::map<std::string, uint64_t> ecn_np, ecn_rp;
  LinkAnswers link;
};

struct HugePagePool {
  std::string path;  // ".../hugepages-2048kB"
  uint64_t page_bytes = 0, pages = 0, free_pages = 0;
};

struct NumaNodeFacts {
  int id = 0;
  std::string path;
  std::string cpus;  // "0-15,32-47"
  std::vector<uint64_t> distances;
};

struct MountFacts {
  std::string options;  // "rw,nosuid,nodev,noexec"
  std::string type;
};

struct ProcessFacts {
  std::string memlock_soft, memlock_hard;  // "8388608", "unlimited"
  std::optional<uint64_t> effective_capabilities;
  std::string allowed_cpus;
};

struct MemoryFacts {
  std::optional<uint64_t> total_bytes;
  std::vector<HugePagePool> pools;
  std::string transparent, transparent_shmem;
  std::optional<MountFacts> shm_mount;
  absl::StatusOr<FilesystemSpace> shm_space = absl::UnavailableError("not asked");
  std::vector<NumaNodeFacts> nodes;
};

struct DeviceFileFacts {
  std::string path;  // "/dev/infiniband/uverbs0"
  bool exists = false;
  int open_error = 0;
};

struct TcpFacts {
  std::optional<uint64_t> sent, retransmitted;
};

struct ContainerSign {
  std::string path, seen;
};

// An adapter whose interface is there, though its RDMA driver may not be.
struct AdapterFacts {
  std::string path;    // "/sys/class/net/eth0/device/uevent"
  std::string netdev;  // "eth0"
  std::string driver;  // "mlx5_core"
};

struct HostFacts {
  bool called = false;  // false: only files were read, of a tree that may be another host's
  std::vector<RdmaDeviceFacts> devices;
  std::map<std::string, NetdevFacts> netdevs;  // those of RDMA devices
  std::map<std::string, DeviceFileFacts> device_files;
  absl::StatusOr<std::vector<VerbsDevice>> verbs = absl::UnavailableError("not asked");
  ProcessFacts process;
  MemoryFacts memory;
  TcpFacts tcp;
  std::vector<AdapterFacts> adapters;
  std::string netns_mode;  // of ib_core: "Y": devices are in all network namespaces, "N": in one
  std::vector<ContainerSign> container_signs;  // why this looks like a container; else empty

  const VerbsDevice* VerbsOf(const std::string& device) const;
  const NetdevFacts* NetdevOf(const RdmaPortFacts& port) const;
};

inline constexpr char kNetnsMode[] = "/sys/module/ib_core/parameters/netns_mode";

// Without `calls` only files are read, as is right for another host's. Takes milliseconds.
HostFacts ReadHostFacts(const FileTree& tree, HostCalls* calls);

// The parts, each of one area.
std::vector<RdmaDeviceFacts> ReadRdmaDevices(const FileTree& tree);
std::vector<AdapterFacts> ReadAdapters(const FileTree& tree);
NetdevFacts ReadNetdev(const FileTree& tree, const std::string& name);
MemoryFacts ReadMemory(const FileTree& tree);
ProcessFacts ReadProcess(const FileTree& tree);
std::vector<ContainerSign> ReadContainerSigns(const FileTree& tree);

}  // namespace dunlin::kvctl
