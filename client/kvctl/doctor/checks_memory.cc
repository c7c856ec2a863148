#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/kvctl/doctor/checks.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvctl {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint32_t kCapNetRaw = 13, kCapIpcLock = 14;  // linux/capability.h

bool Has(const ProcessFacts& process, uint32_t capability) {
  return process.effective_capabilities && (*process.effective_capabilities >> capability & 1) != 0;
}

std::string ShownLimit(const std::string& limit) {
  const std::optional<uint64_t> bytes = ParseNumber(limit);
  return bytes ? FormatRoundedSize(*bytes) : Shown(limit);
}

constexpr char kMemlockRemedy[] =
    "ulimit -l unlimited; for good: LimitMEMLOCK=infinity in the systemd unit, \"memlock "
    "unlimited\" in /etc/security/limits.conf, --ulimit memlock=-1 for docker. IPC_LOCK alone does "
    "nothing for a container that doesn't run as root";

Finding Memlock(const HostFacts& facts) {
  // A client registers a few MiB; a server the whole region.
  constexpr uint64_t kClientNeeds = 64 * kMiB;
  Finding finding{"memlock", "this process", Level::kOk, "", {}, ""};
  const ProcessFacts& process = facts.process;
  finding.evidence.push_back({"/proc/self/limits: Max locked memory",
                              absl::StrCat("soft ", ShownLimit(process.memlock_soft), ", hard ",
                                           ShownLimit(process.memlock_hard))});
  const std::optional<uint64_t> soft = ParseNumber(process.memlock_soft);
  if (process.memlock_soft.empty()) {
    finding.level = Level::kNotShown;
    finding.text = "the limit of locked memory is not shown";
  } else if (!soft) {
    finding.text = "memory may be registered without limit";
  } else if (Has(process, kCapIpcLock)) {
    finding.text = "the limit doesn't apply to this process: it has CAP_IPC_LOCK";
    finding.evidence.push_back({"/proc/self/status: CapEff", "has CAP_IPC_LOCK"});
  } else {
    const bool no_device = facts.devices.empty();
    finding.level = no_device              ? Level::kOk
                    : *soft < kClientNeeds ? Level::kProblem
                                           : Level::kWarning;
    finding.text = no_device ? "limited, which matters only for RDMA and for --lock-memory"
                   : *soft < kClientNeeds
                       ? "too little memory may be locked: registration fails with ENOMEM"
                       : "memory may be registered up to the limit: enough for a client, but a "
                         "server needs its whole region";
    if (!no_device) finding.remedy = kMemlockRemedy;
  }
  return finding;
}

Finding Capabilities(const HostFacts& facts) {
  Finding finding{"capabilities", "this process", Level::kOk, "", {}, ""};
  const ProcessFacts& process = facts.process;
  if (!process.effective_capabilities) {
    finding.level = Level::kNotShown;
    finding.text = "the process's capabilities are not shown";
    finding.evidence.push_back({"/proc/self/status: CapEff", "(not shown)"});
    return finding;
  }
  finding.evidence.push_back(
      {"/proc/self/status: CapEff",
       absl::StrCat(Has(process, kCapIpcLock) ? "with" : "without", " CAP_IPC_LOCK, ",
                    Has(process, kCapNetRaw) ? "with" : "without", " CAP_NET_RAW")});
  finding.text =
      "none is needed: CAP_IPC_LOCK only lifts the memlock limit, CAP_NET_RAW only "
      "raw-packet queues, which Dunlin doesn't use";
  return finding;
}

Finding HugePages(const HostFacts& facts) {
  Finding finding{"huge-pages", "this host", Level::kOk, "", {}, ""};
  uint64_t bytes = 0, free_bytes = 0;
  for (const HugePagePool& pool : facts.memory.pools) {
    bytes += pool.pages * pool.page_bytes;
    free_bytes += pool.free_pages * pool.page_bytes;
    finding.evidence.push_back(
        {pool.path + "/{nr,free}_hugepages", absl::StrCat(pool.pages, ", ", pool.free_pages)});
  }
  constexpr char kFolder[] = "/sys/kernel/mm/transparent_hugepage/";
  finding.evidence.push_back({absl::StrCat(kFolder, "enabled"), Shown(facts.memory.transparent)});
  finding.evidence.push_back(
      {absl::StrCat(kFolder, "shmem_enabled"), Shown(facts.memory.transparent_shmem)});
  if (facts.memory.pools.empty()) {
    finding.level = Level::kNotShown;
    finding.text = "no pool of huge pages is shown: a kernel without hugetlbfs, or a container";
  } else if (bytes == 0) {
    finding.level = Level::kWarning;
    finding.text =
        "none is reserved: a server here uses small pages, which cost it a TLB miss and "
        "the adapter a longer translation for each random access";
    finding.remedy = "before the server starts: sysctl -w vm.nr_hugepages=N, N x 2 MiB > --memory";
  } else {
    finding.text = absl::StrCat(FormatRoundedSize(bytes), " reserved, ",
                                FormatRoundedSize(free_bytes), " free");
  }
  return finding;
}

Finding Shm(const HostFacts& facts) {
  constexpr uint64_t kUsual = 64 * kMiB;  // what container engines give
  Finding finding{"shm", "/dev/shm", Level::kOk, "", {}, ""};
  const MemoryFacts& memory = facts.memory;
  if (!memory.shm_mount) {
    finding.level = Level::kNotShown;
    finding.text = "not mounted: nothing of Dunlin needs it, unless --region-dir names it";
    finding.evidence.push_back({"/proc/self/mounts", "no /dev/shm"});
    return finding;
  }
  const bool noexec = memory.shm_mount->options.find("noexec") != std::string::npos;
  finding.evidence.push_back(
      {"/proc/self/mounts", absl::StrCat(memory.shm_mount->type, " ", memory.shm_mount->options)});
  if (memory.shm_space.ok()) {
    finding.evidence.push_back(
        {"statvfs(/dev/shm)",
         absl::StrCat(FormatRoundedSize(memory.shm_space->free_bytes), " free of ",
                      FormatRoundedSize(memory.shm_space->total_bytes))});
  }
  finding.text = noexec ? "there; noexec, which data doesn't mind" : "there";
  if (memory.shm_space.ok() && memory.shm_space->free_bytes <= kUsual) {
    finding.level = Level::kWarning;
    finding.text = absl::StrCat("only ", FormatRoundedSize(memory.shm_space->free_bytes),
                                " free: too little for a region with --region-dir /dev/shm (a "
                                "memfd, the default, doesn't use it)");
    finding.remedy =
        "mount -o remount,size=SIZE /dev/shm; docker: --shm-size; Kubernetes: an "
        "emptyDir with medium Memory";
  }
  return finding;
}

// Whether two lists such as "0-3,8" share a number.
bool Overlap(const std::string& a, const std::string& b) {
  const auto ranges = [](const std::string& list) {
    std::vector<std::pair<uint64_t, uint64_t>> out;
    std::string rest = list;
    std::replace(rest.begin(), rest.end(), ',', ' ');
    for (const std::string& word : Words(rest)) {
      const size_t dash = word.find('-');
      const auto first = ParseNumber(word.substr(0, dash));
      const auto last = dash == std::string::npos ? first : ParseNumber(word.substr(dash + 1));
      if (first && last) out.emplace_back(*first, *last);
    }
    return out;
  };
  for (const auto& x : ranges(a)) {
    for (const auto& y : ranges(b)) {
      if (x.first <= y.second && y.first <= x.second) return true;
    }
  }
  return false;
}

const NumaNodeFacts* NodeOf(const MemoryFacts& memory, int id) {
  for (const NumaNodeFacts& node : memory.nodes) {
    if (node.id == id) return &node;
  }
  return nullptr;
}

// From the device's node to those on which this process may run.
void JudgeDistance(const HostFacts& facts, const NumaNodeFacts& home, Finding* finding) {
  std::vector<std::string> allowed;
  uint64_t nearest = 0;
  for (const NumaNodeFacts& node : facts.memory.nodes) {
    if (!Overlap(node.cpus, facts.process.allowed_cpus)) continue;
    allowed.push_back(absl::StrCat(node.id));
    const size_t id = static_cast<size_t>(node.id);
    const uint64_t distance = id < home.distances.size() ? home.distances[id] : 0;
    if (nearest == 0 || (distance != 0 && distance < nearest)) nearest = distance;
  }
  finding->evidence.push_back({home.path + "/distance", absl::StrJoin(home.distances, " ")});
  finding->evidence.push_back(
      {"/proc/self/status: Cpus_allowed_list",
       absl::StrCat(facts.process.allowed_cpus, ", of nodes ", absl::StrJoin(allowed, ", "))});
  if (Overlap(home.cpus, facts.process.allowed_cpus)) {
    finding->text =
        absl::StrCat("the adapter is at node ", home.id, ", where this process may run");
    if (allowed.size() > 1) {
      finding->remedy = absl::StrCat("keep memory and threads there: dunlin-server --numa-node ",
                                     home.id, ", numactl --cpunodebind=", home.id);
    }
    return;
  }
  finding->level = Level::kWarning;
  finding->text =
      absl::StrCat("the adapter is at node ", home.id,
                   ", but this process runs elsewhere, at distance ", nearest, " (10 is local)");
  finding->remedy = absl::StrCat("numactl --cpunodebind=", home.id, " --membind=", home.id,
                                 "; dunlin-server --numa-node ", home.id);
}

Finding Numa(const HostFacts& facts, const RdmaDeviceFacts& device) {
  Finding finding{"numa", device.name, Level::kOk, "", {}, ""};
  if (facts.memory.nodes.size() == 1) {
    finding.text = "the host has one node: all memory is equally near";
    finding.evidence.push_back({facts.memory.nodes[0].path, "the only one"});
    return finding;
  }
  const std::string path = device.path + "/device/numa_node";
  const NumaNodeFacts* home = device.numa_node ? NodeOf(facts.memory, *device.numa_node) : nullptr;
  finding.evidence.push_back(
      {path, device.numa_node ? absl::StrCat(*device.numa_node) : "(not shown)"});
  if (home == nullptr) {
    finding.level = Level::kNotShown;
    finding.text = device.soft ? "a soft device is at no node" : "the adapter's node is not known";
    return finding;
  }
  JudgeDistance(facts, *home, &finding);
  return finding;
}

}  // namespace

Findings CheckMemory(const HostFacts& facts) {
  Findings findings = {Memlock(facts), Capabilities(facts), HugePages(facts), Shm(facts)};
  for (const RdmaDeviceFacts& device : facts.devices) findings.push_back(Numa(facts, device));
  return findings;
}

}  // namespace dunlin::kvctl
