#include <utility>

#include "absl/strings/str_cat.h"
#include "client/kvctl/doctor/checks.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace dunlin::kvctl {
namespace {

// Below these a server is cramped: a session takes a queue pair and a completion queue, and keeps
// some READs under way.
constexpr uint32_t kFewSessions = 256;
constexpr uint32_t kShallowReads = 16;
constexpr uint32_t kShortQueue = 256;
// More than any address space: how drivers say that they have no limit.
constexpr uint64_t kUnlimited = uint64_t{1} << 60;

void AddLimits(const VerbsDevice& device, Finding* finding) {
  const std::string source = absl::StrCat("ibv_query_device(", device.name, ")");
  const auto add = [&](const char* name, std::string value) {
    finding->evidence.push_back({source, absl::StrCat(name, " ", std::move(value))});
  };
  add("max_mr_size",
      device.max_mr_bytes >= kUnlimited ? "without limit" : FormatRoundedSize(device.max_mr_bytes));
  add("max_mr", absl::StrCat(device.max_mr));
  add("max_qp", absl::StrCat(device.max_qp));
  add("max_qp_wr", absl::StrCat(device.max_qp_wr));
  add("max_qp_rd_atom", absl::StrCat(device.max_qp_rd_atom));
  add("max_qp_init_rd_atom", absl::StrCat(device.max_qp_init_rd_atom));
  add("max_sge", absl::StrCat(device.max_sge, ", of a READ ", device.max_sge_rd));
  add("max_cq", absl::StrCat(device.max_cq));
  add("max_cqe", absl::StrCat(device.max_cqe));
}

Finding Limits(const HostFacts& facts, const VerbsDevice& device) {
  Finding finding{"limits", device.name, Level::kOk, "the device's limits are ample", {}, ""};
  AddLimits(device, &finding);
  const auto total = facts.memory.total_bytes;
  if (device.max_qp == 0 || device.max_qp_rd_atom == 0 || device.max_qp_init_rd_atom == 0) {
    finding.level = Level::kProblem;
    finding.text = "the device can't READ: it has no queue pairs, or no READ depth";
    finding.remedy = "a virtual function gets its share of them from the host's configuration";
  } else if (device.max_qp < kFewSessions || device.max_cq < kFewSessions) {
    finding.level = Level::kWarning;
    finding.text = "few queue pairs or completion queues: each session takes one of each";
    finding.remedy = "a virtual function gets its share of them from the host's configuration";
  } else if (device.max_cqe < kShortQueue || device.max_qp_wr < kShortQueue) {
    finding.level = Level::kWarning;
    finding.text = "short queues: sessions have fewer chains under way than they ask for";
  } else if (device.max_qp_rd_atom < kShallowReads) {
    finding.text = absl::StrCat("a queue pair has at most ", device.max_qp_rd_atom,
                                " READs under way at once; more sessions give more");
  }
  if (total && device.max_mr_bytes < *total) {
    finding.evidence.push_back({"/proc/meminfo: MemTotal", FormatRoundedSize(*total)});
    absl::StrAppend(&finding.text, "; a region beyond ", FormatRoundedSize(device.max_mr_bytes),
                    " takes several registrations");
  }
  return finding;
}

Finding Atomics(const VerbsDevice& device) {
  Finding finding{"atomics", device.name, Level::kOk, "", {}, ""};
  const std::string source = absl::StrCat("ibv_query_device(", device.name, ")");
  switch (device.atomics) {
    case VerbsAtomics::kNone:
      finding.text =
          "no atomics: the atomic domain is cpu, and a chain's part from its first atomic "
          "on is executed by the server, in the same round trip";
      finding.evidence.push_back({source, "atomic_cap IBV_ATOMIC_NONE"});
      break;
    case VerbsAtomics::kDevice:
      finding.text =
          "atomics against all that goes through this device: the atomic domain is nic "
          "while all clients come through it alone, else cpu";
      finding.evidence.push_back({source, "atomic_cap IBV_ATOMIC_HCA"});
      break;
    case VerbsAtomics::kGlobal:
      finding.text = "atomics against processors too: the atomic domain is nic";
      finding.evidence.push_back({source, "atomic_cap IBV_ATOMIC_GLOB"});
      break;
  }
  return finding;
}

}  // namespace

Findings CheckLimits(const HostFacts& facts) {
  Findings findings;
  for (const RdmaDeviceFacts& device : facts.devices) {
    const VerbsDevice* verbs = facts.VerbsOf(device.name);
    if (verbs == nullptr || !verbs->status.ok()) {
      findings.push_back({"limits",
                          device.name,
                          Level::kNotShown,
                          "the device's limits and atomics show only through libibverbs",
                          {{"ibv_query_device(" + device.name + ")", "not asked, or no answer"}},
                          facts.called ? "see the finding \"provider\"" : ""});
      continue;
    }
    findings.push_back(Limits(facts, *verbs));
    findings.push_back(Atomics(*verbs));
  }
  return findings;
}

}  // namespace dunlin::kvctl
