#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/kvctl/doctor/host_trees.h"

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorAccess, AHostWithoutRdmaIsToldWhatWorks) {
  const Finding finding = Only(CheckAccess(FactsOf(PlainHost(), FakeCalls())), "rdma-devices");
  EXPECT_EQ(finding.level, Level::kNotShown);
  EXPECT_THAT(finding.text, HasSubstr("rdma:// can't be used"));
  EXPECT_THAT(finding.text, HasSubstr("shm:// (same host) and tcp:// need no RDMA"));
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("/sys/class/infiniband = missing"));
  EXPECT_THAT(finding.remedy, HasSubstr("rdma link add rxe0"));
}

TEST(DoctorAccess, AContainerWithoutADeviceIsExplained) {
  const Tree pod = PlainHost() + Tree{{"/proc/1/cgroup", "0::/kubepods/pod7/x\n"}};
  const Findings findings = CheckAccess(FactsOf(pod, FakeCalls()));
  const Finding finding = Only(findings, "container");
  EXPECT_EQ(finding.level, Level::kWarning);
  EXPECT_EQ(EvidenceOf(finding), "/proc/1/cgroup = names kubepods\n");
  EXPECT_THAT(finding.remedy, HasSubstr("device plugin"));
  EXPECT_THAT(Only(findings, "rdma-devices").remedy, HasSubstr("\"container\""));
}

TEST(DoctorAccess, AContainerOfAHostThatKeepsDevicesInOneNamespace) {
  const Tree pod = PlainHost() + Tree{{"/.dockerenv", ""}, {kNetnsMode, "N\n"}};
  const Finding finding = Only(CheckAccess(FactsOf(pod, FakeCalls())), "container");
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("netns_mode = N"));
  EXPECT_THAT(finding.remedy, HasSubstr("rdma system set netns shared"));
}

TEST(DoctorAccess, AnAdapterWithoutItsRdmaDriver) {
  const std::string path = "/sys/class/net/eth0/device/uevent";
  const auto with = [&](const std::string& driver) {
    const Tree tree = PlainHost() + Tree{{path, "DRIVER=" + driver + "\nPCI_CLASS=20000\n"}};
    return Only(CheckAccess(FactsOf(tree, FakeCalls())), "rdma-devices");
  };
  EXPECT_EQ(with("mlx5_core").level, Level::kWarning);
  EXPECT_THAT(with("mlx5_core").remedy, HasSubstr("modprobe mlx5_ib"));
  EXPECT_THAT(EvidenceOf(with("ice")), HasSubstr(path + " = DRIVER=ice"));
  EXPECT_THAT(with("ice").remedy, HasSubstr("modprobe irdma"));
  EXPECT_EQ(with("virtio_net").level, Level::kNotShown);
}

TEST(DoctorAccess, AContainerWithADeviceIsFine) {
  const Tree tree = ConnectxRoce() + Tree{{"/.dockerenv", ""}};
  const Finding finding = Only(CheckAccess(FactsOf(tree, ConnectxRoceCalls())), "container");
  EXPECT_EQ(finding.level, Level::kOk);
}

TEST(DoctorAccess, HealthyDevices) {
  for (const Finding& finding : CheckAccess(FactsOf(ConnectxRoce(), ConnectxRoceCalls()))) {
    EXPECT_EQ(finding.level, Level::kOk) << finding.check << " " << finding.text;
    EXPECT_THAT(finding.remedy, IsEmpty());
  }
  const Finding devices =
      Only(CheckAccess(FactsOf(ConnectxRoce(), ConnectxRoceCalls())), "rdma-devices");
  EXPECT_EQ(devices.text, "1 device: mlx5_0");
  EXPECT_THAT(EvidenceOf(devices), HasSubstr("board MT4119, firmware 20.31.1014"));
}

TEST(DoctorAccess, AMissingDeviceFile) {
  const Tree tree = ConnectxRoce() - "/dev/infiniband/rdma_cm";
  bool seen = false;
  for (const Finding& finding : CheckAccess(FactsOf(tree, ConnectxRoceCalls()))) {
    if (finding.subject != "/dev/infiniband/rdma_cm") continue;
    seen = true;
    EXPECT_EQ(finding.level, Level::kProblem);
    EXPECT_THAT(finding.text, HasSubstr("missing"));
    EXPECT_THAT(finding.remedy, HasSubstr("modprobe ib_uverbs rdma_ucm"));
  }
  EXPECT_TRUE(seen);
}

TEST(DoctorAccess, ADeviceFileThatCantBeOpened) {
  for (const auto& [error, remedy] : {std::pair(EACCES, "mode 0666"), {EPERM, "device rules"}}) {
    FakeCalls calls = ConnectxRoceCalls();
    calls.open_errors["/dev/infiniband/uverbs0"] = error;
    bool seen = false;
    for (const Finding& finding : CheckAccess(FactsOf(ConnectxRoce(), calls))) {
      if (finding.subject != "/dev/infiniband/uverbs0") continue;
      seen = true;
      EXPECT_EQ(finding.level, Level::kProblem);
      EXPECT_THAT(EvidenceOf(finding), HasSubstr("open(/dev/infiniband/uverbs0) = "));
      EXPECT_THAT(finding.remedy, HasSubstr(remedy));
    }
    EXPECT_TRUE(seen);
  }
}

TEST(DoctorAccess, ADeviceThatTheLibraryDoesntKnow) {
  FakeCalls calls = ConnectxRoceCalls();
  calls.devices = std::vector<VerbsDevice>();
  const Finding finding = Only(CheckAccess(FactsOf(ConnectxRoce(), calls)), "provider");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("ibv_get_device_list() = not in the list"));
  EXPECT_THAT(finding.remedy, HasSubstr("ibverbs-providers"));
}

TEST(DoctorAccess, ADeviceThatCantBeOpenedByTheLibrary) {
  FakeCalls calls = ConnectxRoceCalls();
  calls.devices->front().status = absl::UnavailableError("ibv_open_device: Permission denied");
  const Finding finding = Only(CheckAccess(FactsOf(ConnectxRoce(), calls)), "provider");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("Permission denied"));
}

TEST(DoctorAccess, ALibraryThatFails) {
  FakeCalls calls = ConnectxRoceCalls();
  calls.devices = absl::UnavailableError("ibv_get_device_list: Out of memory");
  const Finding finding = Only(CheckAccess(FactsOf(ConnectxRoce(), calls)), "provider");
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_THAT(EvidenceOf(finding), HasSubstr("Out of memory"));
}

TEST(DoctorAccess, AKernelWithoutVerbsForPrograms) {
  const Tree tree = ConnectxRoce() - "/sys/class/infiniband_verbs";
  bool seen = false;
  for (const Finding& finding : CheckAccess(FactsOf(tree, ConnectxRoceCalls()))) {
    if (finding.check != "device-files" || finding.subject != "mlx5_0") continue;
    seen = true;
    EXPECT_EQ(finding.level, Level::kProblem);
    EXPECT_EQ(finding.remedy, "modprobe ib_uverbs");
  }
  EXPECT_TRUE(seen);
}

TEST(DoctorAccess, FilesAloneDontTellOfTheLibrary) {
  const Finding finding = Only(CheckAccess(FactsOfFiles(ConnectxRoce())), "provider");
  EXPECT_EQ(finding.level, Level::kNotShown);
}

}  // namespace
}  // namespace dunlin::kvctl
