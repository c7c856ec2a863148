#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/kvctl/doctor/checks.h"
#include "common/base/status.h"

namespace dunlin::kvctl {
namespace {

constexpr char kWithout[] = "shm:// (same host) and tcp:// need no RDMA and work without";

// The RDMA driver that belongs to an interface's driver; null if there is none.
const char* RdmaDriverOf(const std::string& driver) {
  constexpr std::pair<const char*, const char*> kDrivers[] = {
      {"mlx5_core", "mlx5_ib"}, {"mlx4_core", "mlx4_ib"},  {"ice", "irdma"},
      {"i40e", "irdma"},        {"cxgb4", "iw_cxgb4"},     {"bnxt_en", "bnxt_re"},
      {"qede", "qedr"},         {"hns3", "hns_roce_hw_v2"}};
  for (const auto& [ethernet, rdma] : kDrivers) {
    if (driver == ethernet) return rdma;
  }
  return nullptr;
}

Finding NoDevice(const HostFacts& facts) {
  Finding finding{"rdma-devices", "this host", Level::kNotShown, "", {}, ""};
  finding.text = absl::StrCat("no RDMA device: rdma:// can't be used from here; ", kWithout);
  finding.evidence.push_back({"/sys/class/infiniband", "missing or empty"});
  finding.remedy =
      facts.container_signs.empty()
          ? "for rdma://: an adapter and its driver (lspci, modprobe mlx5_ib or irdma); to try it "
            "on any adapter, rxe: rdma link add rxe0 type rxe netdev eth0"
          : "for rdma://: give the container the host's device, as the finding \"container\" says";
  for (const AdapterFacts& adapter : facts.adapters) {
    const char* rdma = RdmaDriverOf(adapter.driver);
    if (rdma == nullptr) continue;
    finding.level = Level::kWarning;
    finding.text = absl::StrCat("no RDMA device, though ", adapter.netdev,
                                " is on an adapter that may be one: rdma:// can't be used from "
                                "here; ",
                                kWithout);
    finding.evidence.push_back({adapter.path, "DRIVER=" + adapter.driver});
    finding.remedy =
        absl::StrCat("modprobe ", rdma, "; then dmesg, and the adapter's firmware setup");
  }
  return finding;
}

Finding Devices(const HostFacts& facts) {
  Finding finding{"rdma-devices", "this host", Level::kOk, "", {}, ""};
  std::vector<std::string> names;
  for (const RdmaDeviceFacts& device : facts.devices) {
    names.push_back(device.name);
    const char* kind = device.iwarp ? "iWARP" : "InfiniBand or RoCE";
    finding.evidence.push_back(
        {device.path, absl::StrCat(kind, device.soft ? ", soft" : "", ", board ",
                                   Shown(device.board), ", firmware ", Shown(device.firmware))});
  }
  finding.text = absl::StrCat(
      names.size(), names.size() == 1 ? " device: " : " devices: ", absl::StrJoin(names, ", "));
  return finding;
}

std::string RemedyForMissingFile(const HostFacts& facts, const std::string& path) {
  if (!facts.container_signs.empty()) {
    return absl::StrCat("hand it into the container: --device ", path,
                        ", or the device plugin's resource in the pod's limits");
  }
  return "modprobe ib_uverbs rdma_ucm (rdma-core loads them at boot), and see that udev runs";
}

Finding CheckFile(const HostFacts& facts, const DeviceFileFacts& file) {
  Finding finding{"device-files", file.path, Level::kOk, "", {}, ""};
  if (!file.exists) {
    finding.level = Level::kProblem;
    finding.text = "missing, so this process can't use the device";
    finding.evidence.push_back({file.path, std::strerror(ENOENT)});
    finding.remedy = RemedyForMissingFile(facts, file.path);
  } else if (file.open_error != 0) {
    finding.level = Level::kProblem;
    finding.text = "there, but this process can't open it";
    finding.evidence.push_back({"open(" + file.path + ")", std::strerror(file.open_error)});
    finding.remedy = file.open_error == EPERM
                         ? "the container's device rules refuse it: --device, or the pod's resource"
                         : "make it mode 0666, as rdma-core's udev rules do, or join its group";
  } else {
    finding.text = facts.called ? "this process can open it" : "there";
    finding.evidence.push_back(
        {file.path, facts.called ? "opened for reading and writing" : "exists"});
  }
  return finding;
}

Finding MissingUverbs(const RdmaDeviceFacts& device) {
  return {"device-files",
          device.name,
          Level::kProblem,
          "the kernel offers no verbs for this device to programs",
          {{"/sys/class/infiniband_verbs/*/ibdev", "none says " + device.name}},
          "modprobe ib_uverbs"};
}

Finding Provider(const HostFacts& facts, const RdmaDeviceFacts& device) {
  Finding finding{"provider", device.name, Level::kOk, "", {}, ""};
  if (!facts.verbs.ok()) {
    finding.level = facts.called ? Level::kProblem : Level::kNotShown;
    finding.text = facts.called ? "libibverbs can't list devices" : "libibverbs was not asked";
    finding.evidence.push_back(
        {"ibv_get_device_list()", std::string(FromAbsl(facts.verbs.status().message()))});
    if (facts.called) finding.remedy = "modprobe ib_uverbs; install rdma-core";
    return finding;
  }
  const VerbsDevice* verbs = facts.VerbsOf(device.name);
  if (verbs == nullptr) {
    finding.level = Level::kProblem;
    finding.text = "the kernel has this device, but libibverbs doesn't list it";
    finding.evidence = {{device.path, "there"}, {"ibv_get_device_list()", "not in the list"}};
    finding.remedy =
        "install the provider for it, also inside of the container: apt install ibverbs-providers; "
        "and compare its version with the kernel's driver";
  } else if (!verbs->status.ok()) {
    finding.level = Level::kProblem;
    finding.text = "libibverbs lists this device, but can't use it";
    finding.evidence.push_back({device.name, std::string(FromAbsl(verbs->status.message()))});
    finding.remedy = "see the finding \"device-files\"; dmesg tells more";
  } else {
    finding.text = "libibverbs lists and opens it";
    finding.evidence.push_back({"ibv_open_device(" + device.name + ")", "done"});
  }
  return finding;
}

Findings Container(const HostFacts& facts) {
  if (facts.container_signs.empty()) return {};
  Finding finding{"container", "this process", Level::kOk, "", {}, ""};
  for (const ContainerSign& sign : facts.container_signs) {
    finding.evidence.push_back({sign.path, sign.seen});
  }
  if (!facts.netns_mode.empty()) finding.evidence.push_back({kNetnsMode, facts.netns_mode});
  if (facts.devices.empty()) {
    finding.level = Level::kWarning;
    finding.text = "in a container that was given no RDMA device";
    finding.remedy =
        "docker: --device /dev/infiniband --network host (or a macvlan on the adapter) --ulimit "
        "memlock=-1; Kubernetes: the resource of the RDMA or SR-IOV device plugin in the pod's "
        "limits, and a network of the same device";
    if (facts.netns_mode == "N") {
      finding.remedy +=
          "; the host keeps each device in one network namespace: rdma dev set DEVICE "
          "netns, or rdma system set netns shared";
    }
  } else {
    finding.text = "in a container, with an RDMA device";
  }
  return {finding};
}

}  // namespace

Findings CheckAccess(const HostFacts& facts) {
  Findings findings;
  findings.push_back(facts.devices.empty() ? NoDevice(facts) : Devices(facts));
  for (Finding& finding : Container(facts)) findings.push_back(std::move(finding));
  if (facts.devices.empty()) return findings;
  for (const auto& [name, file] : facts.device_files) findings.push_back(CheckFile(facts, file));
  for (const RdmaDeviceFacts& device : facts.devices) {
    if (device.uverbs.empty()) findings.push_back(MissingUverbs(device));
    findings.push_back(Provider(facts, device));
  }
  return findings;
}

}  // namespace dunlin::kvctl
