#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/host_facts.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

// The rest of the line that starts with `name`.
std::string FieldOf(const std::optional<std::string>& file, std::string_view name) {
  if (!file) return "";
  for (const std::string& line : Lines(*file)) {
    if (std::string_view(line).starts_with(name)) {
      return std::string(Trimmed(std::string_view(line).substr(name.size())));
    }
  }
  return "";
}

std::optional<uint64_t> ParseHex(const std::string& text) {
  if (text.empty() || text.size() > 16) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    const size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value << 4 | digit;
  }
  return value;
}

std::vector<HugePagePool> ReadPools(const FileTree& tree) {
  constexpr char kFolder[] = "/sys/kernel/mm/hugepages";
  constexpr std::string_view kPrefix = "hugepages-", kSuffix = "kB";
  std::vector<HugePagePool> pools;
  for (const std::string& name : tree.Names(kFolder)) {
    std::string_view size = name;
    if (!size.starts_with(kPrefix) || !size.ends_with(kSuffix)) continue;
    size = size.substr(kPrefix.size(), size.size() - kPrefix.size() - kSuffix.size());
    HugePagePool pool;
    pool.path = absl::StrCat(kFolder, "/", name);
    pool.page_bytes = ParseNumber(size).value_or(0) << 10;
    pool.pages = tree.Number(pool.path + "/nr_hugepages").value_or(0);
    pool.free_pages = tree.Number(pool.path + "/free_hugepages").value_or(0);
    pools.push_back(std::move(pool));
  }
  return pools;
}

std::vector<NumaNodeFacts> ReadNodes(const FileTree& tree) {
  constexpr char kFolder[] = "/sys/devices/system/node";
  std::vector<NumaNodeFacts> nodes;
  for (const std::string& name : tree.Names(kFolder)) {
    if (!name.starts_with("node")) continue;
    const std::optional<uint64_t> id = ParseNumber(std::string_view(name).substr(4));
    if (!id) continue;
    NumaNodeFacts node;
    node.id = static_cast<int>(*id);
    node.path = absl::StrCat(kFolder, "/", name);
    node.cpus = tree.Text(node.path + "/cpulist").value_or("");
    for (const std::string& word : Words(tree.Text(node.path + "/distance").value_or(""))) {
      node.distances.push_back(ParseNumber(word).value_or(0));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<MountFacts> ReadShmMount(const FileTree& tree) {
  std::optional<MountFacts> found;
  for (const std::string& line : Lines(tree.Text("/proc/self/mounts").value_or(""))) {
    const std::vector<std::string> words = Words(line);  // device, folder, type, options ...
    if (words.size() >= 4 && words[1] == "/dev/shm") found = MountFacts{words[3], words[2]};
  }
  return found;  // the last one hides those before it
}

}  // namespace

MemoryFacts ReadMemory(const FileTree& tree) {
  MemoryFacts memory;
  const std::vector<std::string> total = Words(FieldOf(tree.Text("/proc/meminfo"), "MemTotal:"));
  if (!total.empty()) {
    if (const auto kilobytes = ParseNumber(total[0])) memory.total_bytes = *kilobytes << 10;
  }
  memory.pools = ReadPools(tree);
  constexpr char kTransparent[] = "/sys/kernel/mm/transparent_hugepage/";
  memory.transparent = tree.Text(absl::StrCat(kTransparent, "enabled")).value_or("");
  memory.transparent_shmem = tree.Text(absl::StrCat(kTransparent, "shmem_enabled")).value_or("");
  memory.shm_mount = ReadShmMount(tree);
  memory.nodes = ReadNodes(tree);
  return memory;
}

ProcessFacts ReadProcess(const FileTree& tree) {
  ProcessFacts process;
  const auto limits = Words(FieldOf(tree.Text("/proc/self/limits"), "Max locked memory"));
  if (limits.size() >= 2) {
    process.memlock_soft = limits[0];
    process.memlock_hard = limits[1];
  }
  const std::optional<std::string> status = tree.Text("/proc/self/status");
  process.effective_capabilities = ParseHex(FieldOf(status, "CapEff:"));
  process.allowed_cpus = FieldOf(status, "Cpus_allowed_list:");
  return process;
}

std::vector<ContainerSign> ReadContainerSigns(const FileTree& tree) {
  std::vector<ContainerSign> signs;
  for (const char* path :
       {"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io/serviceaccount"}) {
    if (tree.Exists(path)) signs.push_back({path, "exists"});
  }
  const std::string group = tree.Text("/proc/1/cgroup").value_or("");
  for (const char* word : {"kubepods", "docker", "containerd", "libpod", "lxc"}) {
    if (group.find(word) != std::string::npos) {
      signs.push_back({"/proc/1/cgroup", absl::StrCat("names ", word)});
    }
  }
  return signs;
}

}  // namespace dunlin::kvctl
